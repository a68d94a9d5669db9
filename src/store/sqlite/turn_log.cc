#include "store/sqlite/turn_log.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "store/sqlite/limit.h"
#include "store/sqlite/turn_log_append.h"
#include "store/sqlite/turn_log_threads.h"
#include "store/sqlite/usage.h"

namespace chela::store::sqlite {
namespace {

constexpr UnixMs kDeliveredAgeMs =
    std::chrono::duration_cast<std::chrono::milliseconds>(kDeliveredReplyAge).count();

#define CHELA_RECORD_COLUMNS "thread, seq, pos, turn, kind, body, at"

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

// No records are an error when there is no such thread.
Result<std::vector<LogRecord>> nothing_or_missing(Connection& db, Result<std::vector<LogRecord>> records,
                                                  const Scope& scope, const std::string& thread) {
  if (!records || !records->empty()) return records;
  const Result<std::optional<ThreadRow>> exists = find_thread(db, scope, thread);
  if (!exists) return fail(exists.error());
  if (!*exists) return fail(Code::kNotFound, "no thread {}", thread);
  return records;
}

// Deletes replies that were delivered long ago.
Result<> prune_outbox(Connection& db, UnixMs now) {
  return db.run(
      "DELETE FROM outbox WHERE rowid IN"
      " (SELECT rowid FROM outbox WHERE state = 'delivered' AND created_at <= ? ORDER BY created_at LIMIT ?)",
      {now - kDeliveredAgeMs, kMaxPrunedReplies});
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
    return find_or_insert_thread(db, row);
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
  return readers_.read([scope = std::move(scope), channel = std::move(channel), hash = std::move(hash)](
                           Connection& db) { return find_by_transcript(db, scope, channel, hash); });
}

Task<Result<std::vector<ThreadRow>>> TurnLog::threads(Scope scope, ThreadFilter filter) {
  return readers_.read([scope = std::move(scope), filter = std::move(filter)](Connection& db) {
    return list_threads(db, scope, filter);
  });
}

Task<Result<std::vector<UsageRow>>> TurnLog::usage(Scope scope, std::int64_t first_day) {
  return readers_.read(
      [scope = std::move(scope), first_day](Connection& db) { return read_usage(db, scope, first_day); });
}

Task<Result<std::vector<LogRecord>>> TurnLog::read_thread(Scope scope, std::string thread, std::int64_t after,
                                                          std::size_t limit) {
  return readers_.read([scope = std::move(scope), thread = std::move(thread), after,
                        limit](Connection& db) -> Result<std::vector<LogRecord>> {
    Result<std::vector<LogRecord>> records = db.all(
        "SELECT " CHELA_RECORD_COLUMNS
        " FROM records WHERE thread = ? AND seq > ? AND realm = ? AND user_id = ? ORDER BY seq LIMIT ?",
        {thread, after, scope.realm, scope.user, sql_limit(limit)}, record_of);
    return nothing_or_missing(db, std::move(records), scope, thread);
  });
}

Task<Result<std::vector<LogRecord>>> TurnLog::read_thread_back(Scope scope, std::string thread,
                                                               std::int64_t before, std::size_t limit) {
  return readers_.read([scope = std::move(scope), thread = std::move(thread), before,
                        limit](Connection& db) -> Result<std::vector<LogRecord>> {
    Result<std::vector<LogRecord>> records = db.all(
        "SELECT " CHELA_RECORD_COLUMNS
        " FROM records WHERE thread = ? AND seq < ? AND realm = ? AND user_id = ? ORDER BY seq DESC LIMIT ?",
        {thread, before, scope.realm, scope.user, sql_limit(limit)}, record_of);
    return nothing_or_missing(db, std::move(records), scope, thread);
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
  return readers_.read([](Connection& db) { return list_open_threads(db); });
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

Task<Result<>> TurnLog::outbox_update(Scope scope, std::string id, std::string state, std::int64_t attempts,
                                      UnixMs now) {
  return writer_.write(
      Durability::kBarrier, 0,
      [scope = std::move(scope), id = std::move(id), state = std::move(state), attempts,
       now](Connection& db) -> Result<> {
        Result<> updated =
            db.run("UPDATE outbox SET state = ?, attempts = ? WHERE id = ? AND realm = ? AND user_id = ?",
                   {state, attempts, id, scope.realm, scope.user});
        if (!updated && updated.error().code == Code::kConflict) {
          return fail(Code::kInvalidArgument, "\"{}\" is no state of an outbox row", state);
        }
        if (!updated) return updated;
        if (db.changes() == 0) return fail(Code::kNotFound, "no outbox row {}", id);
        return state == "delivered" ? prune_outbox(db, now) : Result<>{};
      });
}

#undef CHELA_RECORD_COLUMNS

}  // namespace chela::store::sqlite
