#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task_group.h"
#include "store/turn_log_store.h"

namespace chela::testing {

// A turn log in front of another one: counts what is read, and may treat lazy appends as a disk does although the other one is in memory.
// Loop thread only; its owner runs the loop until nothing waits here.
class TurnLogProxy final : public store::TurnLogStore {
 public:
  TurnLogProxy(runtime::EventLoop& loop, store::TurnLogStore& inner)
      : loop_(loop), inner_(inner), releasing_(loop) {}
  ~TurnLogProxy() override;

  enum class Lazy { kAtOnce, kHeld };  // held: until a barrier, commit_soon() or kMaxLazyDelay
  Lazy lazy = Lazy::kAtOnce;
  std::size_t records_read = 0;
  int commits_asked = 0;
  std::optional<Error> refuse;  // what append() answers instead

  Task<Result<store::Appended>> append(store::AppendRequest request) override;
  void commit_soon() override;
  Task<Result<store::ThreadRow>> ensure_thread(store::ThreadRow row) override;
  Task<Result<store::ThreadRow>> thread(Scope scope, std::string id) override;
  Task<Result<std::optional<store::ThreadRow>>> thread_by_key(Scope scope, std::string channel,
                                                              std::string external) override;
  Task<Result<std::optional<store::ThreadRow>>> thread_by_transcript(Scope scope, std::string channel,
                                                                     std::string hash) override;
  Task<Result<std::vector<store::ThreadRow>>> threads(Scope scope, store::ThreadFilter filter) override;
  Task<Result<std::vector<store::UsageRow>>> usage(Scope scope, std::int64_t first_day) override;
  Task<Result<std::vector<store::LogRecord>>> read_thread(Scope scope, std::string thread, std::int64_t after,
                                                          std::size_t limit) override;
  Task<Result<std::vector<store::LogRecord>>> read_thread_back(Scope scope, std::string thread,
                                                               std::int64_t before,
                                                               std::size_t limit) override;
  Task<Result<std::vector<store::LogRecord>>> read_user(Scope scope, std::int64_t after,
                                                        std::size_t limit) override;
  Task<Result<std::int64_t>> last_pos(Scope scope) override;
  Task<Result<std::vector<store::ThreadRow>>> open_threads() override;
  Task<Result<std::optional<std::pair<std::string, std::string>>>> idempotent_message(Scope scope,
                                                                                      std::string key,
                                                                                      UnixMs now) override;
  Task<Result<std::vector<store::OutboxRow>>> outbox_pending(std::size_t limit) override;
  Task<Result<>> outbox_update(Scope scope, std::string id, std::string state, std::int64_t attempts,
                               UnixMs now) override;

 private:
  using Done = runtime::Completion<Result<store::Appended>>;
  struct Held {
    store::AppendRequest request;
    Done done;
  };

  void release();
  static Task<> pass_on(Task<Result<store::Appended>> append, Done done);
  Task<Result<std::vector<store::LogRecord>>> counted(Task<Result<std::vector<store::LogRecord>>> read);

  runtime::EventLoop& loop_;
  store::TurnLogStore& inner_;
  runtime::TaskGroup releasing_;
  std::vector<Held> held_;
  std::optional<runtime::TimerId> timer_;
};

}  // namespace chela::testing
