#include "testing/turn_log_proxy.h"

#include "base/limits.h"

namespace chela::testing {

using store::LogRecord;
using store::ThreadRow;

namespace {

Task<Result<store::Appended>> wait(runtime::Completion<Result<store::Appended>> done) {
  co_return co_await done;
}

Task<Result<store::Appended>> refused(Error error) { co_return fail(std::move(error)); }

}  // namespace

TurnLogProxy::~TurnLogProxy() {
  if (timer_) loop_.cancel(*timer_);
}

Task<Result<store::Appended>> TurnLogProxy::append(store::AppendRequest request) {
  if (refuse) return refused(*refuse);
  if (lazy == Lazy::kAtOnce || request.durability == store::Durability::kBarrier) {
    release();
    return inner_.append(std::move(request));
  }
  const Done done(loop_);
  held_.push_back({std::move(request), done});
  if (!timer_) {
    timer_ = loop_.call_at(loop_.clock().steady() + kMaxLazyDelay, [this] {
      timer_.reset();
      release();
    });
  }
  return wait(done);
}

void TurnLogProxy::commit_soon() {
  ++commits_asked;
  release();
}

void TurnLogProxy::release() {
  if (timer_) loop_.cancel(*std::exchange(timer_, std::nullopt));
  for (Held& held : std::exchange(held_, {}))
    releasing_.spawn(pass_on(inner_.append(std::move(held.request)), held.done));
}

Task<> TurnLogProxy::pass_on(Task<Result<store::Appended>> append, Done done) {
  done.resolve(co_await std::move(append));
}

Task<Result<std::vector<LogRecord>>> TurnLogProxy::counted(Task<Result<std::vector<LogRecord>>> read) {
  Result<std::vector<LogRecord>> records = co_await std::move(read);
  if (records) records_read += records->size();
  co_return records;
}

Task<Result<ThreadRow>> TurnLogProxy::ensure_thread(ThreadRow row) {
  return inner_.ensure_thread(std::move(row));
}
Task<Result<ThreadRow>> TurnLogProxy::thread(Scope scope, std::string id) {
  return inner_.thread(std::move(scope), std::move(id));
}
Task<Result<std::optional<ThreadRow>>> TurnLogProxy::thread_by_key(Scope scope, std::string channel,
                                                                   std::string external) {
  return inner_.thread_by_key(std::move(scope), std::move(channel), std::move(external));
}
Task<Result<std::optional<ThreadRow>>> TurnLogProxy::thread_by_transcript(Scope scope, std::string channel,
                                                                          std::string hash) {
  return inner_.thread_by_transcript(std::move(scope), std::move(channel), std::move(hash));
}
Task<Result<std::vector<ThreadRow>>> TurnLogProxy::threads(Scope scope, store::ThreadFilter filter) {
  return inner_.threads(std::move(scope), std::move(filter));
}
Task<Result<std::vector<store::UsageRow>>> TurnLogProxy::usage(Scope scope, std::int64_t first_day) {
  return inner_.usage(std::move(scope), first_day);
}
Task<Result<std::vector<LogRecord>>> TurnLogProxy::read_thread(Scope scope, std::string thread,
                                                               std::int64_t after, std::size_t limit) {
  return counted(inner_.read_thread(std::move(scope), std::move(thread), after, limit));
}
Task<Result<std::vector<LogRecord>>> TurnLogProxy::read_thread_back(Scope scope, std::string thread,
                                                                    std::int64_t before, std::size_t limit) {
  return counted(inner_.read_thread_back(std::move(scope), std::move(thread), before, limit));
}
Task<Result<std::vector<LogRecord>>> TurnLogProxy::read_user(Scope scope, std::int64_t after,
                                                             std::size_t limit) {
  return counted(inner_.read_user(std::move(scope), after, limit));
}
Task<Result<std::int64_t>> TurnLogProxy::last_pos(Scope scope) { return inner_.last_pos(std::move(scope)); }
Task<Result<std::vector<ThreadRow>>> TurnLogProxy::open_threads() { return inner_.open_threads(); }
Task<Result<std::optional<std::pair<std::string, std::string>>>> TurnLogProxy::idempotent_message(
    Scope scope, std::string key, UnixMs now) {
  return inner_.idempotent_message(std::move(scope), std::move(key), now);
}
Task<Result<std::vector<store::OutboxRow>>> TurnLogProxy::outbox_pending(std::size_t limit) {
  return inner_.outbox_pending(limit);
}
Task<Result<>> TurnLogProxy::outbox_update(Scope scope, std::string id, std::string state,
                                           std::int64_t attempts, UnixMs now) {
  return inner_.outbox_update(std::move(scope), std::move(id), std::move(state), attempts, now);
}

}  // namespace chela::testing
