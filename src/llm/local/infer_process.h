#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "net/http_client.h"
#include "os/child_process.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task_group.h"

namespace chela::llm::local {

struct InferOptions {
  std::string program;  // chela-infer; see beside_this_program()
  std::string models_dir;
  std::string socket;                // where it is to listen
  int threads = 0;                   // 0: it decides by the machine
  std::chrono::milliseconds idle{};  // it ends after so long without a request; 0: its own default
  std::chrono::milliseconds start_timeout = kInferStartTimeout;
  std::chrono::milliseconds start_window = kInferStartWindow;  // in which it is started kMaxInferStarts times
};

// The path of a program in the folder of the running one.
std::string beside_this_program(std::string_view name);

// The one chela-infer of this engine: started when somebody needs it, watched, and forgotten when it ends, be it for idleness or by a
// crash; the next ensure() starts it again, at most kMaxInferStarts times within the window. Lives on the loop; the owner
// awaits stop() before it destroys it. The process never outlives it (os::ChildProcess).
class InferProcess {
 public:
  InferProcess(InferOptions options, runtime::EventLoop& loop, os::Poller& poller, net::HttpClient& http);

  // Returns when chela-infer answers on its socket. Callers that come together share one start. Every failure is kUnavailable or
  // kTimeout with the next step in its message, or kCancelled.
  Task<Result<>> ensure(std::stop_token stop);

  bool ready() const { return state_ == State::kReady; }
  int starts() const { return starts_; }
  const InferOptions& options() const { return options_; }

  // Ends the process and all waiting.
  Task<> stop();

 private:
  enum class State { kStopped, kStarting, kReady };
  using Child = std::shared_ptr<os::ChildProcess>;

  Task<> start();
  Task<Result<>> launch();
  Task<Result<>> wait_until_healthy(Child child);
  Task<> watch(Child child);
  Task<> collect_stderr(Child child);
  Task<bool> healthy();
  Result<> check_start_limit();
  Error start_error(Code code, std::string_view what) const;

  InferOptions options_;
  runtime::EventLoop& loop_;
  os::Poller& poller_;
  net::HttpClient& http_;
  State state_ = State::kStopped;
  Child child_;            // while it runs
  std::string last_exit_;  // "exit 1", for errors
  std::string log_tail_;   // last of its stderr, for errors
  std::deque<SteadyTime> recent_starts_;
  int starts_ = 0;
  std::vector<runtime::Completion<Result<>>> waiters_;
  runtime::TaskGroup tasks_;
};

}  // namespace chela::llm::local
