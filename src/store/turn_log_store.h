#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
#include "runtime/task.h"

namespace chela::store {

// A thread of conversation. Key: (realm, agent, user, channel, external_thread); `id` is ours.
struct ThreadRow {
  std::string id;
  Scope scope;                  // realm, user, agent
  std::string channel;          // "gateway", "v1", "cli", ...
  std::string external_thread;  // the channel's own name of the thread, "" when it has none
  std::string title;            // "" until the first turn
  std::string open_turn;        // the turn that has not finished, "" when none
  std::string transcript_hash;  // see agent/: finds a thread by the conversation a client repeats
  std::int64_t last_seq = 0;
  std::int64_t turn_count = 0;
  UnixMs created_at = 0;
  UnixMs updated_at = 0;
};

// Which threads are listed.
struct ThreadFilter {
  std::size_t limit = 50;
  std::string channel = {};  // "" = of all
  std::string text = {};     // in the title, ASCII letters in either case; "" = all
};

// What a model call or a turn adds to the usage of its user's day.
struct UsageAdd {
  std::string model;
  std::int64_t turns = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;  // of the prompt's
};

struct UsageRow {
  std::int64_t day = 0;  // since 1970-01-01, UTC
  UsageAdd sum;
};

// A record to append. `body` is opaque to the store: one JSON object of the kind's own shape with a version "v".
struct NewRecord {
  std::string turn;  // "" for records of the thread
  std::string kind;
  std::string body;
};

struct LogRecord {
  std::string thread;
  std::int64_t seq = 0;  // per thread, gapless from 1
  std::int64_t pos = 0;  // per (realm, user), gapless from 1, in commit order
  std::string turn;
  std::string kind;
  std::string body;
  UnixMs at = 0;
};

// A reply that must leave through a channel. Written with the record that finishes its turn.
struct OutboxRow {
  std::string id;
  Scope scope;
  std::string channel;
  std::string thread;
  std::string turn;
  std::string content;
  std::string state;  // "pending", "sending", "delivered", "unknown", "failed"
  std::int64_t attempts = 0;
  UnixMs created_at = 0;
};

enum class Durability {
  kBarrier,  // on disk when append() returns
  kLazy,     // rides with the next commit, at most kMaxLazyDelay later; append() returns after that commit
};

// What changes with an append, in the same transaction.
struct AppendRequest {
  Scope scope;
  std::string thread;
  // The thread's row when these are its first records. kConflict and nothing appended when its id or its key is taken.
  std::optional<ThreadRow> create = {};
  std::vector<NewRecord> records;
  Durability durability = Durability::kBarrier;
  UnixMs at = 0;
  std::optional<std::string> open_turn;        // sets ThreadRow::open_turn
  std::optional<std::string> transcript_hash;  // sets ThreadRow::transcript_hash
  std::optional<std::string> title;
  std::int64_t add_turns = 0;       // added to ThreadRow::turn_count
  std::vector<UsageAdd> usage;      // added to the day of `at`
  std::optional<OutboxRow> outbox;  // new row, state "pending"
  // (key, message_id): kConflict with context {"message_id", <the first one>, "thread", ...} and nothing appended when the user gave
  // this key before within 24 h.
  std::optional<std::pair<std::string, std::string>> idempotency;
};

struct Appended {
  std::vector<LogRecord> records;  // as written, with seq, pos and at
};

// Threads, their logs and the outbox. Loop thread only; all methods take the scope whose rows they may see (agent is matched for
// threads by key and by transcript only: a user sees the threads of all own agents). A missing row of another user is kNotFound, never a hint.
class TurnLogStore {
 public:
  virtual ~TurnLogStore() = default;

  // Appends in the order of the calls: a later append is never durable without an earlier one. kNotFound for an unknown thread.
  virtual Task<Result<Appended>> append(AppendRequest request) = 0;
  // Asks for a commit of what was appended so far: somebody waits for a lazy record.
  virtual void commit_soon() = 0;

  // Creates the thread, or gives the existing one of the same key (external_thread "" never matches).
  virtual Task<Result<ThreadRow>> ensure_thread(ThreadRow row) = 0;
  virtual Task<Result<ThreadRow>> thread(Scope scope, std::string id) = 0;
  virtual Task<Result<std::optional<ThreadRow>>> thread_by_key(Scope scope, std::string channel,
                                                               std::string external) = 0;
  virtual Task<Result<std::optional<ThreadRow>>> thread_by_transcript(Scope scope, std::string channel,
                                                                      std::string hash) = 0;
  // Newest activity first.
  virtual Task<Result<std::vector<ThreadRow>>> threads(Scope scope, ThreadFilter filter) = 0;
  // By day and model, from that day on.
  virtual Task<Result<std::vector<UsageRow>>> usage(Scope scope, std::int64_t first_day) = 0;

  // Records with seq > after, ascending, at most limit.
  virtual Task<Result<std::vector<LogRecord>>> read_thread(Scope scope, std::string thread,
                                                           std::int64_t after, std::size_t limit) = 0;
  // Records with seq < before, newest first, at most limit: the end of a long log without its beginning.
  virtual Task<Result<std::vector<LogRecord>>> read_thread_back(Scope scope, std::string thread,
                                                                std::int64_t before, std::size_t limit) = 0;
  // Records of all threads of (realm, user) with pos > after, ascending, at most limit.
  virtual Task<Result<std::vector<LogRecord>>> read_user(Scope scope, std::int64_t after,
                                                         std::size_t limit) = 0;
  // The pos of the newest record of (realm, user), 0 when there is none.
  virtual Task<Result<std::int64_t>> last_pos(Scope scope) = 0;

  // Threads of all users with an open turn: what the engine takes up again at its start. Not reachable from outside.
  virtual Task<Result<std::vector<ThreadRow>>> open_threads() = 0;

  // (message id, thread) that this user's key was used for within 24 h before `now`, or nothing.
  virtual Task<Result<std::optional<std::pair<std::string, std::string>>>> idempotent_message(Scope scope,
                                                                                              std::string key,
                                                                                              UnixMs now) = 0;

  // Rows of all users in state "pending" or "sending", oldest first. A row that is "sending" when the engine starts was being sent when
  // the last one ended. Not reachable from outside.
  virtual Task<Result<std::vector<OutboxRow>>> outbox_pending(std::size_t limit) = 0;
  // On disk when it returns. A delivery also deletes rows of all users that were delivered and are older than kDeliveredReplyAge, a
  // few at a time.
  virtual Task<Result<>> outbox_update(Scope scope, std::string id, std::string state, std::int64_t attempts,
                                       UnixMs now) = 0;
};

}  // namespace chela::store
