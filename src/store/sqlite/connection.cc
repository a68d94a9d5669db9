#include "store/sqlite/connection.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/check.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/fts_hits.h"

namespace chela::store::sqlite {
namespace {

constexpr int kBusyTimeoutMs =
    5000;  // another program (a backup, the sqlite3 shell) may hold the file for a moment
constexpr int kRestartWaitMs = 50;  // writes wait meanwhile
constexpr int kWriterCacheKib = 1536;
constexpr int kReaderCacheKib = 512;
// A log that had to grow beyond this is cut back to it when it starts anew.
constexpr int kKeptWalBytes = 24 * 1024 * 1024;

}  // namespace

std::int64_t Row::integer(int column) const { return sqlite3_column_int64(stmt_, column); }

std::optional<std::int64_t> Row::maybe_integer(int column) const {
  if (sqlite3_column_type(stmt_, column) == SQLITE_NULL) return std::nullopt;
  return integer(column);
}

std::string_view Row::view(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(stmt_, column));
  return {bytes == nullptr ? "" : bytes, static_cast<size_t>(sqlite3_column_bytes(stmt_, column))};
}

Statement::~Statement() {
  if (stmt_ == nullptr) return;
  sqlite3_reset(stmt_);
  sqlite3_clear_bindings(stmt_);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(stmt_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* db = sqlite3_db_handle(stmt_);
  return fail(error_of(sqlite3_extended_errcode(db), sqlite3_errmsg(db), *path_));
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Access access) {
  int flags = SQLITE_OPEN_EXRESCODE;
  flags |= access == Access::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.empty() ? ":memory:" : path.c_str(), &db, flags, nullptr);
  std::unique_ptr<Connection> connection(new Connection(db, path));
  if (code != SQLITE_OK) return fail(error_of(code, db == nullptr ? "no memory" : sqlite3_errmsg(db), path));
  Result<> ready = connection->configure(access);
  if (!ready) return fail(std::move(ready.error()));
  return connection;
}

Result<> Connection::configure(Access access) {
  // One statement in use at a time needs few small buffers; the default takes 48 KiB of each connection.
  sqlite3_db_config(db_, SQLITE_DBCONFIG_LOOKASIDE, nullptr, 512, 40);
  sqlite3_busy_timeout(db_, kBusyTimeoutMs);
  // A file that somebody else prepared must not run code through its schema.
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  const int cache = access == Access::kReadWrite ? kWriterCacheKib : kReaderCacheKib;
  Result<> done =
      script(fmt::format("PRAGMA foreign_keys=ON; PRAGMA cache_size=-{}; PRAGMA temp_store=MEMORY;", cache));
  if (!done) return done;
  return register_fts_hits(*this);
}

Result<> Connection::use_wal() {
  const Result<std::optional<std::int64_t>> pages =
      one("PRAGMA page_count", {}, [](const Row& row) { return row.integer(0); });
  if (!pages) return fail(pages.error());
  // A new file needs no sync of its header: until the first checkpoint, which syncs it, all that counts is in the log.
  const char* before = pages->value_or(0) == 0 ? "PRAGMA synchronous=OFF;" : "";
  Result<> done =
      script(fmt::format("{} PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; "
                         "PRAGMA journal_size_limit={};",
                         before, kKeptWalBytes));
  if (!done) return done;
  sqlite3_wal_hook(
      db_,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Connection*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      this);
  return {};
}

Connection::~Connection() {
  for (const auto& [sql, stmt] : statements_) sqlite3_finalize(stmt);
  sqlite3_close(db_);
}

Result<Statement> Connection::use(std::string_view sql, std::initializer_list<Arg> args) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    sqlite3_stmt* stmt = nullptr;
    const int code = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &stmt, nullptr);
    if (code != SQLITE_OK) return fail(error_of(code, sqlite3_errmsg(db_), path_));
    found = statements_.emplace(std::string(sql), stmt).first;
  }
  sqlite3_stmt* stmt = found->second;
  CHELA_CHECK(sqlite3_stmt_busy(stmt) == 0, "a statement is used inside its own rows");
  Statement statement(stmt, path_);
  int column = 0;
  for (const Arg& arg : args) {
    ++column;
    // SQLite takes a null pointer for NULL, not for empty.
    const char* bytes = arg.bytes_.data() == nullptr ? "" : arg.bytes_.data();
    int code = SQLITE_OK;
    switch (arg.kind_) {
      case Arg::Kind::kNull:
        code = sqlite3_bind_null(stmt, column);
        break;
      case Arg::Kind::kInteger:
        code = sqlite3_bind_int64(stmt, column, arg.integer_);
        break;
      case Arg::Kind::kText:
        code = sqlite3_bind_text64(stmt, column, bytes, arg.bytes_.size(), SQLITE_STATIC, SQLITE_UTF8);
        break;
      case Arg::Kind::kBlob:
        code = sqlite3_bind_blob64(stmt, column, bytes, arg.bytes_.size(), SQLITE_STATIC);
        break;
    }
    if (code != SQLITE_OK) return fail(error_of(code, sqlite3_errstr(code), path_));
  }
  CHELA_CHECK(column == sqlite3_bind_parameter_count(stmt), "a statement got a wrong number of parameters");
  return statement;
}

Result<> Connection::run(std::string_view sql, std::initializer_list<Arg> args) {
  return each(sql, args, [](const Row&) {});
}

Result<> Connection::script(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(error_of(code, sqlite3_errmsg(db_), path_));
  return {};
}

std::int64_t Connection::changes() const { return sqlite3_changes64(db_); }

bool Connection::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

Result<> Connection::checkpoint(Checkpoint kind) {
  const int mode = kind == Checkpoint::kPassive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_RESTART;
  sqlite3_busy_timeout(db_, kRestartWaitMs);
  const int code = sqlite3_wal_checkpoint_v2(db_, nullptr, mode, nullptr, nullptr);
  sqlite3_busy_timeout(db_, kBusyTimeoutMs);
  if (code != SQLITE_OK && code != SQLITE_BUSY) return fail(error_of(code, sqlite3_errmsg(db_), path_));
  return {};
}

Result<Snapshot> Snapshot::begin(Connection& db) {
  if (db.in_transaction()) return Snapshot(nullptr);
  Result<> begun = db.run("BEGIN");
  if (!begun) return fail(std::move(begun.error()));
  return Snapshot(&db);
}

Snapshot::~Snapshot() {
  // A transaction that only read has nothing that could fail to commit.
  if (db_ != nullptr) (void)db_->run("COMMIT");
}

}  // namespace chela::store::sqlite
