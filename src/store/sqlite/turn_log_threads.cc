#include "store/sqlite/turn_log_threads.h"

#include <fmt/format.h>

#include "store/sqlite/limit.h"

namespace chela::store::sqlite {
namespace {

#define CHELA_THREAD_COLUMNS                                                                           \
  "id, realm, user_id, agent, channel, external_thread, title, open_turn, transcript_hash, last_seq, " \
  "turn_count, created_at, "                                                                           \
  "updated_at"

ThreadRow thread_of(const Row& row) {
  return ThreadRow{.id = row.text(0),
                   .scope = {.realm = row.text(1), .user = row.text(2), .agent = row.text(3)},
                   .channel = row.text(4),
                   .external_thread = row.text(5),
                   .title = row.text(6),
                   .open_turn = row.text(7),
                   .transcript_hash = row.text(8),
                   .last_seq = row.integer(9),
                   .turn_count = row.integer(10),
                   .created_at = row.integer(11),
                   .updated_at = row.integer(12)};
}

// A pattern for LIKE ... ESCAPE '!' that every text with this one in it matches.
std::string containing(std::string_view text) {
  std::string pattern = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '!') pattern += '!';
    pattern += c;
  }
  return pattern + "%";
}

}  // namespace

Result<std::optional<ThreadRow>> find_thread(Connection& db, const Scope& scope, const std::string& id) {
  return db.one("SELECT " CHELA_THREAD_COLUMNS " FROM threads WHERE id = ? AND realm = ? AND user_id = ?",
                {id, scope.realm, scope.user}, thread_of);
}

Result<std::optional<ThreadRow>> find_by_key(Connection& db, const Scope& scope, const std::string& channel,
                                             const std::string& external) {
  if (external.empty()) return std::optional<ThreadRow>();
  return db.one("SELECT " CHELA_THREAD_COLUMNS
                " FROM threads WHERE realm = ? AND user_id = ? AND agent = ? AND channel = ? AND "
                "external_thread = ? AND external_thread <> ''",
                {scope.realm, scope.user, scope.agent, channel, external}, thread_of);
}

Result<std::optional<ThreadRow>> find_by_transcript(Connection& db, const Scope& scope,
                                                    const std::string& channel, const std::string& hash) {
  return db.one("SELECT " CHELA_THREAD_COLUMNS
                " FROM threads WHERE realm = ? AND user_id = ? AND agent = ? AND channel = ? AND "
                "transcript_hash = ? "
                "AND transcript_hash <> ''"
                " ORDER BY updated_at DESC, id DESC LIMIT 1",
                {scope.realm, scope.user, scope.agent, channel, hash}, thread_of);
}

Result<std::vector<ThreadRow>> list_threads(Connection& db, const Scope& scope, const ThreadFilter& filter) {
  return db.all("SELECT " CHELA_THREAD_COLUMNS
                " FROM threads WHERE realm = ?1 AND user_id = ?2 AND (?3 = '' OR channel = ?3)"
                " AND title LIKE ?4 ESCAPE '!' ORDER BY updated_at DESC, id DESC LIMIT ?5",
                {scope.realm, scope.user, filter.channel, containing(filter.text), sql_limit(filter.limit)},
                thread_of);
}

Result<std::vector<ThreadRow>> list_open_threads(Connection& db) {
  return db.all("SELECT " CHELA_THREAD_COLUMNS " FROM threads WHERE open_turn <> '' ORDER BY id", {},
                thread_of);
}

Result<> insert_thread(Connection& db, const ThreadRow& row) {
  Result<> inserted =
      db.run("INSERT INTO threads (" CHELA_THREAD_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)",
             {row.id, row.scope.realm, row.scope.user, row.scope.agent, row.channel, row.external_thread,
              row.title, row.open_turn, row.transcript_hash, row.turn_count, row.created_at, row.updated_at});
  if (!inserted && inserted.error().code == Code::kConflict)
    return fail(Code::kConflict, "the thread id {} or the thread's name is taken", row.id);
  return inserted;
}

Result<ThreadRow> find_or_insert_thread(Connection& db, const ThreadRow& row) {
  Result<std::optional<ThreadRow>> existing = find_by_key(db, row.scope, row.channel, row.external_thread);
  if (!existing) return fail(std::move(existing.error()));
  if (*existing) return std::move(**existing);
  if (Result<> inserted = insert_thread(db, row); !inserted) return fail(std::move(inserted.error()));
  ThreadRow created = row;
  created.last_seq = 0;
  return created;
}

#undef CHELA_THREAD_COLUMNS

}  // namespace chela::store::sqlite
