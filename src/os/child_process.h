#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "os/fd.h"
#include "os/poller.h"
#include "runtime/task.h"

namespace chela::os {

// Where one of a child's three standard streams leads.
struct Stdio {
  enum class Kind { kNull, kPipe, kFile, kInherit };
  Kind kind = Kind::kNull;
  std::string path = {};  // kFile: read from for stdin, else appended to (created 0600)
};

struct SpawnOptions {
  std::vector<std::string> argv;  // argv[0] is the program: a path, or a name looked up in the PATH of `env`
  std::vector<std::pair<std::string, std::string>> env;  // all the child gets; begin with base_environment()
  std::string cwd;                                       // absolute; "" is this process' own
  Stdio in, out, err;
};

struct ExitStatus {
  int code = 0;    // what the program returned, when signal is 0
  int signal = 0;  // what killed it
  bool ok() const { return code == 0 && signal == 0; }
  std::string text() const;  // "exit 1", "signal 9"
};

// A program that this process started. Between the two stands the small program chela-guard: it puts the child into a process
// group of its own, adopts whatever the child leaves behind, and kills all of it when the child ends, when this object goes, or when the
// engine dies, kill -9 included. So no descendant outlives its reason, whatever it does with sessions and groups.
// Lives on the loop thread. The destructor kills (SIGKILL) and reaps at once.
class ChildProcess {
 public:
  // kNotFound when the program does not exist, kPermissionDenied when it may not be run.
  static Task<Result<ChildProcess>> spawn(Poller& poller, SpawnOptions options);

  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) noexcept;
  ~ChildProcess();

  pid_t pid() const;

  // Ends with the child and all it started; kCancelled on stop, the child then still runs. May be awaited again for the same status.
  // One waiter at a time.
  Task<Result<ExitStatus>> wait(std::stop_token stop);

  // SIGTERM to the group; SIGKILL to everything after the grace. Gives the status once all are gone.
  Task<ExitStatus> terminate(std::chrono::milliseconds grace = kCancelGrace);

  void signal(int number);  // to the child's group, if it still runs

  // What the child wrote next, at most max_bytes, "" at the end. For streams of kind kPipe.
  Task<Result<std::string>> read_stdout(size_t max_bytes, std::stop_token stop);
  Task<Result<std::string>> read_stderr(size_t max_bytes, std::stop_token stop);
  // All bytes, or kUnavailable when the child closed its input.
  Task<Result<>> write_stdin(std::string bytes, std::stop_token stop);
  void close_stdin();

 private:
  struct State;
  explicit ChildProcess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace chela::os
