#include "store/sqlite/turn_log.h"

#include <fmt/format.h>

#include "store/sqlite/limit.h"
#include "store/sqlite/turn_log_append.h"

namespace chela::store::sqlite {
namespace {

#define CHELA_THREAD_COLUMNS                                                                           \
  "id, realm, user_id, agent, channel, external_thread, title, open_turn, transcript_hash, last_seq, " \
  "turn_count, created_at, "                                                                           \
  "updated_at"
#define CHELA_RECORD_COLUMNS "thread, seq, pos, turn, kind, body, at"

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

LogRecord record_of(const Row& row) {
  return LogRecord{.thread = row.text(0),
                   .seq = row.integer(1),
                   .pos = row.integer(2),
                   .turn = row.text(3),
                   .kind = row.text(4),
                   .body = row.text(5),
                   .at = row.integer(6)};
}

OutboxRow outbox_of(const Row& row) {
  return OutboxRow{.id = row.text(0),
                   .scope = {.realm = row.text(1), .user = row.text(2), .agent = row.text(3)},
                   .channel = row.text(4),
                   .thread = row.text(5),
                   .turn = row.text(6),
                   .content = row.text(7),
                   .state = row.text(8),
                   .attempts = row.integer(9),
                   .created_at = row.integer(10)};
}

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

Result<ThreadRow> create_thread(Connection& db, const ThreadRow& row) {
  Result<std::optional<ThreadRow>> existing = find_by_key(db, row.scope, row.channel, row.external_thread);
  if (!existing) return fail(std::move(existing.error()));
  if (*existing) return std::move(**existing);
  Result<> inserted =
      db.run("INSERT INTO threads (" CHELA_THREAD_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)",
             {row.id, row.scope.realm, row.scope.user, row.scope.agent, row.channel, row.external_thread,
              row.title, row.open_turn, row.transcript_hash, row.turn_count, row.created_at, row.updated_at});
  if (!inserted && inserted.error().code == Code::kConflict)
    return fail(Code::kConflict, "the thread id {} is taken", row.id);
  if (!inserted) return fail(std::move(inserted.error()));
  ThreadRow created = row;
  created.last_seq = 0;
  return created;
}

size_t bytes_of(const AppendRequest& request) {
  size_t bytes = request.outbox ? request.outbox->content.size() : 0;
  for (const NewRecord& record : request.records) bytes += record.body.size();
  return bytes;
}

}  // namespace

Task<Result<Appended>> TurnLog::append(AppendRequest request) {
  const Durability durability = request.durability;
  const size_t bytes = bytes_of(request);
  return writer_.write(durability, bytes, [request = std::move(request)](Connection& db) mutable {
    return append_records(db, std::move(request));
  });
}

Task<Result<ThreadRow>> TurnLog::ensure_thread(ThreadRow row) {
  return writer_.write(Durability::kBarrier, 0, [row = std::move(row)](Connection& db) -> Result<ThreadRow> {
    if (row.id.empty()) return fail(Code::kInvalidArgument, "a thread needs an id");
    return create_thread(db, row);
  });
}

Task<Result<ThreadRow>> TurnLog::thread(Scope scope, std::string id) {
  return readers_.read([scope = std::move(scope), id = std::move(id)](Connection& db) -> Result<ThreadRow> {
    Result<std::optional<ThreadRow>> found = find_thread(db, scope, id);
    if (!found) return fail(std::move(found.error()));
    if (!*found) return fail(Code::kNotFound, "no thread {}", id);
    return std::move(**found);
  });
}

Task<Result<std::optional<ThreadRow>>> TurnLog::thread_by_key(Scope scope, std::string channel,
                                                              std::string external) {
  return readers_.read(
      [scope = std::move(scope), channel = std::move(channel),
       external = std::move(external)](Connection& db) { return find_by_key(db, scope, channel, external); });
}

Task<Result<std::optional<ThreadRow>>> TurnLog::thread_by_transcript(Scope scope, std::string channel,
                                                                     std::string hash) {
  return readers_.read(
      [scope = std::move(scope), channel = std::move(channel), hash = std::move(hash)](Connection& db) {
        // Two conversations of the same words: the one used last.
        return db.one("SELECT " CHELA_THREAD_COLUMNS
                      " FROM threads WHERE realm = ? AND user_id = ? AND channel = ? AND transcript_hash = ? "
                      "AND transcript_hash <> ''"
                      " ORDER BY updated_at DESC, id DESC LIMIT 1",
                      {scope.realm, scope.user, channel, hash}, thread_of);
      });
}

Task<Result<std::vector<ThreadRow>>> TurnLog::threads(Scope scope, std::size_t limit) {
  return readers_.read([scope = std::move(scope), limit](Connection& db) {
    return db.all("SELECT " CHELA_THREAD_COLUMNS
                  " FROM threads WHERE realm = ? AND user_id = ? ORDER BY updated_at DESC, id DESC LIMIT ?",
                  {scope.realm, scope.user, sql_limit(limit)}, thread_of);
  });
}

Task<Result<std::vector<LogRecord>>> TurnLog::read_thread(Scope scope, std::string thread, std::int64_t after,
                                                          std::size_t limit) {
  return readers_.read([scope = std::move(scope), thread = std::move(thread), after,
                        limit](Connection& db) -> Result<std::vector<LogRecord>> {
    Result<std::vector<LogRecord>> records = db.all(
        "SELECT " CHELA_RECORD_COLUMNS
        " FROM records WHERE thread = ? AND seq > ? AND realm = ? AND user_id = ? ORDER BY seq LIMIT ?",
        {thread, after, scope.realm, scope.user, sql_limit(limit)}, record_of);
    if (!records || !records->empty()) return records;
    const Result<std::optional<ThreadRow>> exists = find_thread(db, scope, thread);
    if (!exists) return fail(exists.error());
    if (!*exists) return fail(Code::kNotFound, "no thread {}", thread);
    return records;
  });
}

Task<Result<std::vector<LogRecord>>> TurnLog::read_user(Scope scope, std::int64_t after, std::size_t limit) {
  return readers_.read([scope = std::move(scope), after, limit](Connection& db) {
    return db.all("SELECT " CHELA_RECORD_COLUMNS
                  " FROM records WHERE realm = ? AND user_id = ? AND pos > ? ORDER BY pos LIMIT ?",
                  {scope.realm, scope.user, after, sql_limit(limit)}, record_of);
  });
}

Task<Result<std::int64_t>> TurnLog::last_pos(Scope scope) {
  return readers_.read([scope = std::move(scope)](Connection& db) -> Result<std::int64_t> {
    const Result<std::optional<std::int64_t>> last =
        db.one("SELECT last_pos FROM positions WHERE realm = ? AND user_id = ?", {scope.realm, scope.user},
               [](const Row& row) { return row.integer(0); });
    if (!last) return fail(last.error());
    return last->value_or(0);
  });
}

Task<Result<std::vector<ThreadRow>>> TurnLog::open_threads() {
  return readers_.read([](Connection& db) {
    return db.all("SELECT " CHELA_THREAD_COLUMNS " FROM threads WHERE open_turn <> '' ORDER BY id", {},
                  thread_of);
  });
}

Task<Result<std::optional<std::pair<std::string, std::string>>>> TurnLog::idempotent_message(Scope scope,
                                                                                             std::string key,
                                                                                             UnixMs now) {
  return readers_.read([scope = std::move(scope), key = std::move(key), now](Connection& db) {
    return find_key(db, scope, key, now);
  });
}

Task<Result<std::vector<OutboxRow>>> TurnLog::outbox_pending(std::size_t limit) {
  return readers_.read([limit](Connection& db) {
    return db.all(
        "SELECT id, realm, user_id, agent, channel, thread, turn, content, state, attempts, created_at FROM "
        "outbox"
        " WHERE state IN ('pending', 'sending') ORDER BY created_at, id LIMIT ?",
        {sql_limit(limit)}, outbox_of);
  });
}

Task<Result<>> TurnLog::outbox_update(Scope scope, std::string id, std::string state, std::int64_t attempts) {
  return writer_.write(
      Durability::kBarrier, 0,
      [scope = std::move(scope), id = std::move(id), state = std::move(state),
       attempts](Connection& db) -> Result<> {
        Result<> updated =
            db.run("UPDATE outbox SET state = ?, attempts = ? WHERE id = ? AND realm = ? AND user_id = ?",
                   {state, attempts, id, scope.realm, scope.user});
        if (!updated && updated.error().code == Code::kConflict) {
          return fail(Code::kInvalidArgument, "\"{}\" is no state of an outbox row", state);
        }
        if (updated && db.changes() == 0) return fail(Code::kNotFound, "no outbox row {}", id);
        return updated;
      });
}

#undef CHELA_THREAD_COLUMNS
#undef CHELA_RECORD_COLUMNS

}  // namespace chela::store::sqlite
