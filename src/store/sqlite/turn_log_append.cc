#include "store/sqlite/turn_log_append.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "store/sqlite/turn_log_threads.h"
#include "store/sqlite/usage.h"

namespace chela::store::sqlite {
namespace {

constexpr UnixMs kWindowMs =
    std::chrono::duration_cast<std::chrono::milliseconds>(kIdempotencyWindow).count();

using Key = std::pair<std::string, std::string>;

// Fails with kConflict when the key is in use, else takes it.
Result<> claim_key(Connection& db, const AppendRequest& request, const Key& claim) {
  const auto& [key, message] = claim;
  const Result<std::optional<Key>> used = find_key(db, request.scope, key, request.at);
  if (!used) return fail(used.error());
  if (*used) {
    Error error{
        .code = Code::kConflict,
        .message = fmt::format("the idempotency key \"{}\" was used for message {}", key, (*used)->first)};
    return fail(std::move(error).with("message_id", (*used)->first).with("thread", (*used)->second));
  }
  return db.run(
      "INSERT INTO idempotency_keys (realm, user_id, key, message_id, thread, created_at) VALUES (?, ?, ?, "
      "?, ?, ?)"
      " ON CONFLICT (realm, user_id, key)"
      " DO UPDATE SET message_id = excluded.message_id, thread = excluded.thread, created_at = "
      "excluded.created_at",
      {request.scope.realm, request.scope.user, key, message, request.thread, request.at});
}

// Forgets keys of all users whose window has passed, now and then and not many at once.
Result<> expire_keys(Connection& db, UnixMs now) {
  const Result<std::optional<std::int64_t>> last =
      db.one("SELECT max(rowid) FROM idempotency_keys", {}, [](const Row& row) { return row.integer(0); });
  if (!last) return fail(last.error());
  if (last->value_or(0) % kExpireKeysEvery != 0) return {};
  return db.run(
      "DELETE FROM idempotency_keys WHERE rowid IN"
      " (SELECT rowid FROM idempotency_keys WHERE created_at <= ? ORDER BY created_at LIMIT ?)",
      {now - kWindowMs, kMaxExpiredKeys});
}

// Changes the thread's row and gives its last_seq after the new records.
Result<std::int64_t> advance_thread(Connection& db, const AppendRequest& request) {
  const Result<std::optional<std::int64_t>> last = db.one(
      "UPDATE threads SET last_seq = last_seq + ?4, updated_at = max(updated_at, ?5), turn_count = "
      "turn_count + ?6,"
      " open_turn = coalesce(?7, open_turn), transcript_hash = coalesce(?8, transcript_hash), title = "
      "coalesce(?9, title)"
      " WHERE id = ?1 AND realm = ?2 AND user_id = ?3 RETURNING last_seq",
      {request.thread, request.scope.realm, request.scope.user, request.records.size(), request.at,
       request.add_turns, request.open_turn, request.transcript_hash, request.title},
      [](const Row& row) { return row.integer(0); });
  if (!last) return fail(last.error());
  if (!*last) return fail(Code::kNotFound, "no thread {}", request.thread);
  return **last;
}

// Gives the user's last position after the new records.
Result<std::int64_t> advance_user(Connection& db, const AppendRequest& request) {
  const Result<std::optional<std::int64_t>> last = db.one(
      "INSERT INTO positions (realm, user_id, last_pos) VALUES (?1, ?2, ?3)"
      " ON CONFLICT (realm, user_id) DO UPDATE SET last_pos = last_pos + ?3 RETURNING last_pos",
      {request.scope.realm, request.scope.user, request.records.size()},
      [](const Row& row) { return row.integer(0); });
  if (!last) return fail(last.error());
  return last->value_or(0);
}

Result<> insert_outbox(Connection& db, const AppendRequest& request, const OutboxRow& row) {
  if (row.scope.realm != request.scope.realm || row.scope.user != request.scope.user) {
    return fail(Code::kInvalidArgument, "outbox row {} belongs to another user than its thread", row.id);
  }
  return db.run(
      "INSERT INTO outbox (id, realm, user_id, agent, channel, thread, turn, content, state, attempts, "
      "created_at)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)",
      {row.id, row.scope.realm, row.scope.user, row.scope.agent, row.channel, request.thread, row.turn,
       row.content, row.attempts, row.created_at});
}

}  // namespace

Result<std::optional<Key>> find_key(Connection& db, const Scope& scope, const std::string& key, UnixMs now) {
  return db.one(
      "SELECT message_id, thread FROM idempotency_keys WHERE realm = ? AND user_id = ? AND key = ? AND "
      "created_at > ?",
      {scope.realm, scope.user, key, now - kWindowMs},
      [](const Row& row) { return Key(row.text(0), row.text(1)); });
}

Result<Appended> append_records(Connection& db, AppendRequest request) {
  if (request.idempotency) {
    Result<> claimed = claim_key(db, request, *request.idempotency);
    if (claimed) claimed = expire_keys(db, request.at);
    if (!claimed) return fail(std::move(claimed.error()));
  }
  if (request.create) {
    const ThreadRow& row = *request.create;
    if (row.id != request.thread || row.scope.realm != request.scope.realm ||
        row.scope.user != request.scope.user)
      return fail(Code::kInvalidArgument, "the thread {} cannot begin with records of another", row.id);
    if (Result<> created = insert_thread(db, row); !created) return fail(std::move(created.error()));
  }
  const auto count = static_cast<std::int64_t>(request.records.size());
  const Result<std::int64_t> last_seq = advance_thread(db, request);
  if (!last_seq) return fail(last_seq.error());

  Appended appended;
  if (count > 0) {
    const Result<std::int64_t> last_pos = advance_user(db, request);
    if (!last_pos) return fail(last_pos.error());
    std::int64_t seq = *last_seq - count;
    std::int64_t pos = *last_pos - count;
    appended.records.reserve(request.records.size());
    for (NewRecord& record : request.records) {
      ++seq;
      ++pos;
      Result<> inserted = db.run(
          "INSERT INTO records (realm, user_id, thread, seq, pos, turn, kind, body, at) VALUES (?, ?, ?, ?, "
          "?, ?, ?, ?, ?)",
          {request.scope.realm, request.scope.user, request.thread, seq, pos, record.turn, record.kind,
           record.body, request.at});
      if (!inserted) return fail(std::move(inserted.error()));
      appended.records.push_back(LogRecord{.thread = request.thread,
                                           .seq = seq,
                                           .pos = pos,
                                           .turn = std::move(record.turn),
                                           .kind = std::move(record.kind),
                                           .body = std::move(record.body),
                                           .at = request.at});
    }
  }
  for (const UsageAdd& each : request.usage) {
    if (Result<> added = add_usage(db, request, each); !added) return fail(std::move(added.error()));
  }
  if (request.outbox) {
    Result<> inserted = insert_outbox(db, request, *request.outbox);
    if (!inserted) return fail(std::move(inserted.error()));
  }
  return appended;
}

}  // namespace chela::store::sqlite
