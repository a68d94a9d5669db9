#include "store/sqlite/schema.h"

#include <fmt/format.h>

namespace chela::store::sqlite {
namespace {

constexpr std::int64_t kApplicationId = 0x4348454c;  // "CHEL", what `file chela.db` shows

constexpr std::string_view kCreate = R"(
  CREATE TABLE IF NOT EXISTS schema_migrations (
    domain TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    applied_at INTEGER NOT NULL,
    PRIMARY KEY (domain, number)
  ) STRICT, WITHOUT ROWID)";

struct Applied {
  std::string domain;
  std::int64_t number;
  std::string name;
  std::string sha256;
};

Result<std::int64_t> number_of(Connection& db, std::string_view sql) {
  Result<std::optional<std::int64_t>> found = db.one(sql, {}, [](const Row& row) { return row.integer(0); });
  if (!found) return fail(std::move(found.error()));
  return found->value_or(0);
}

// Whether the migration has been applied, after making sure that it is the same one.
Result<bool> is_applied(const std::vector<Applied>& applied, const Migration& migration) {
  for (const Applied& row : applied) {
    if (row.domain != migration.domain || row.number != migration.number) continue;
    if (row.sha256 == migration.sha256) return true;
    return fail(Code::kConflict,
                "the database was made with another content of migration {}/{:04}_{}: use the Chela that "
                "made it, or restore a backup",
                row.domain, row.number, row.name);
  }
  return false;
}

Result<> refuse_unknown(const std::vector<Applied>& applied, std::span<const Migration> known) {
  for (const Applied& row : applied) {
    const bool found = std::ranges::any_of(
        known, [&](const Migration& m) { return m.domain == row.domain && m.number == row.number; });
    if (found) continue;
    return fail(Code::kUnsupported,
                "the database was used by a newer Chela (migration {}/{:04}_{}): upgrade this one, or "
                "restore a backup",
                row.domain, row.number, row.name);
  }
  return {};
}

Result<> apply(Connection& db, const Migration& migration, UnixMs now) {
  Result<> done = db.run("BEGIN IMMEDIATE");
  if (done) done = db.script(std::string(migration.sql));
  if (done) {
    done = db.run(
        "INSERT INTO schema_migrations (domain, number, name, sha256, applied_at) VALUES (?, ?, ?, ?, ?)",
        {migration.domain, migration.number, migration.name, migration.sha256, now});
  }
  if (done) done = db.run("COMMIT");
  if (done) return {};
  if (db.in_transaction()) (void)db.run("ROLLBACK");  // the first error is the one to tell
  Error error = std::move(done.error());
  error.message = fmt::format("migration {}/{:04}_{}: {}", migration.domain, migration.number, migration.name,
                              error.message);
  return fail(std::move(error));
}

Result<> create(Connection& db) {
  Result<> done = db.script(
      fmt::format("BEGIN IMMEDIATE; PRAGMA application_id={}; {}; COMMIT;", kApplicationId, kCreate));
  if (!done && db.in_transaction()) (void)db.run("ROLLBACK");
  return done;
}

Result<> apply_missing(Connection& db, std::span<const Migration> migrations,
                       const std::vector<Applied>& applied, UnixMs now) {
  for (const Migration& migration : migrations) {
    const Result<bool> known = is_applied(applied, migration);
    if (!known) return fail(known.error());
    if (*known) continue;
    Result<> done = apply(db, migration, now);
    if (!done) return done;
  }
  return {};
}

}  // namespace

Result<> check_identity(Connection& db) {
  Result<std::int64_t> tables = number_of(db, "SELECT count(*) FROM sqlite_schema");
  if (!tables) return fail(std::move(tables.error()));
  Result<std::int64_t> id = number_of(db, "PRAGMA application_id");
  if (!id) return fail(std::move(id.error()));
  if (*id == kApplicationId || (*tables == 0 && *id == 0)) return {};
  return fail(Code::kInvalidArgument,
              "{} is a database of another program: move it away or choose another home folder", db.path());
}

Result<> migrate(Connection& db, std::span<const Migration> migrations, UnixMs now) {
  const Result<std::int64_t> exists =
      number_of(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'");
  if (!exists) return fail(exists.error());
  if (*exists == 0) {
    Result<> created = create(db);
    if (!created) return created;
  }
  Result<std::vector<Applied>> applied =
      db.all("SELECT domain, number, name, sha256 FROM schema_migrations", {}, [](const Row& row) {
        return Applied{
            .domain = row.text(0), .number = row.integer(1), .name = row.text(2), .sha256 = row.text(3)};
      });
  if (!applied) return fail(std::move(applied.error()));
  Result<> known = refuse_unknown(*applied, migrations);
  if (!known) return known;
  // Without a sync each: a crash before the next full commit takes whole migrations back, from the last one on.
  Result<> relaxed = db.script("PRAGMA synchronous=NORMAL");
  if (!relaxed) return relaxed;
  Result<> done = apply_missing(db, migrations, *applied, now);
  Result<> strict = db.script("PRAGMA synchronous=FULL");
  return done ? strict : done;
}

}  // namespace chela::store::sqlite
