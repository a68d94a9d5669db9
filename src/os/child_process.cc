#include "os/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <list>

#include "os/file.h"
#include "os/guard/protocol.h"
#include "runtime/stop_scope.h"

namespace chela::os {
namespace {

using guard::Report;

constexpr int kFirstFreeFd = 10;  // above the numbers that the guard's descriptors get

// chela-guard lies beside the running program.
std::string guard_path() {
  std::string path(PATH_MAX, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return path.substr(0, path.rfind('/') + 1) + "chela-guard";
}

ExitStatus status_of(int wait_status) {
  if (WIFEXITED(wait_status)) return {.code = WEXITSTATUS(wait_status)};
  return {.signal = WTERMSIG(wait_status)};
}

// A copy out of the way of descriptors 0 to 3, which dup2 fills one after the other.
Fd lifted(const Fd& fd) { return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFreeFd)); }

// The two ends of a standard stream: ours (only of a pipe) and the child's.
struct Stream {
  Fd ours;
  Fd theirs;
};

Result<Stream> open_stream(const Stdio& stdio, int number) {
  Stream stream;
  const bool is_input = number == 0;
  switch (stdio.kind) {
    case Stdio::Kind::kNull:
      stream.theirs.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
      break;
    case Stdio::Kind::kInherit:
      stream.theirs.reset(::fcntl(number, F_DUPFD_CLOEXEC, kFirstFreeFd));
      break;
    case Stdio::Kind::kFile:
      stream.theirs.reset(::open(stdio.path.c_str(),
                                 (is_input ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND) | O_CLOEXEC, 0600));
      break;
    case Stdio::Kind::kPipe: {
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC) != 0) break;
      stream.ours.reset(ends[is_input ? 1 : 0]);
      stream.theirs.reset(ends[is_input ? 0 : 1]);
      ::fcntl(stream.ours.get(), F_SETFL, O_NONBLOCK);
      break;
    }
  }
  if (!stream.theirs)
    return fail(system_error(errno, "open", stdio.path.empty() ? "a stream for a child" : stdio.path));
  stream.theirs = lifted(stream.theirs);
  if (!stream.theirs) return fail(system_error(errno, "open", "a stream for a child"));
  return stream;
}

// posix_spawn with a fresh session, default signals, descriptors 0 to 3 and nothing else.
Result<pid_t> start_guard(const SpawnOptions& options, const Fd (&descriptors)[4]) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int number = 0; number < 4; ++number)
    ::posix_spawn_file_actions_adddup2(&actions, descriptors[number].get(), number);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  const std::string path = guard_path();
  std::vector<std::string> env;
  for (const auto& [name, value] : options.env) env.push_back(name + "=" + value);
  std::vector<char*> argv{const_cast<char*>(path.c_str()), const_cast<char*>(options.cwd.c_str())};
  for (const std::string& each : options.argv) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& each : env) envp.push_back(const_cast<char*>(each.c_str()));
  envp.push_back(nullptr);

  pid_t pid = -1;
  const int reason = ::posix_spawn(&pid, path.c_str(), &actions, &attributes, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (reason != 0) return fail(system_error(reason, "start", path));
  return pid;
}

Result<> check(const SpawnOptions& options) {
  if (options.argv.empty() || options.argv.front().empty())
    return fail(Code::kInvalidArgument, "no program to run is named");
  for (const std::string& each : options.argv) {
    if (each.find('\0') != std::string::npos)
      return fail(Code::kInvalidArgument, "an argument of {} has a NUL byte", options.argv.front());
  }
  for (const auto& [name, value] : options.env) {
    if (name.empty() || name.find('=') != std::string::npos ||
        (name + value).find('\0') != std::string::npos) {
      return fail(Code::kInvalidArgument, "the variable {} cannot be passed to {}", name,
                  options.argv.front());
    }
  }
  return {};
}

}  // namespace

std::string ExitStatus::text() const {
  return signal != 0 ? fmt::format("signal {}", signal) : fmt::format("exit {}", code);
}

struct ChildProcess::State {
  State(Poller& p, Fd c, pid_t g) : poller(p), control(std::move(c)), guard(g) {}

  // Letting go of the connection makes the guard kill everything; it exits right after.
  ~State() {
    control.reset();
    reap_guard();
  }

  void reap_guard() {
    if (guard < 0) return;
    while (::waitpid(guard, nullptr, 0) < 0 && errno == EINTR) {
    }
    guard = -1;
  }

  // The guard's next report; kEnded by SIGKILL when the guard itself was killed.
  Task<Result<Report>> next_report(std::stop_token stop) {
    while (true) {
      if (Result<> ready = co_await poller.readable(control.get(), stop); !ready)
        co_return fail(std::move(ready.error()));
      Report report{};
      const ssize_t got = ::recv(control.get(), &report, sizeof report, MSG_DONTWAIT);
      if (got == sizeof report) co_return report;
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      co_return Report{.kind = Report::kEnded, .value = SIGKILL};
    }
  }

  void command(std::uint8_t byte) {
    // A guard that is gone needs no command.
    if (!ended) (void)!::send(control.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  Poller& poller;
  Fd control;
  pid_t guard;
  pid_t child = -1;
  Fd in, out, err;
  std::optional<ExitStatus> ended;
  bool somebody_reads = false;
  std::list<runtime::Completion<bool>> others;  // waiters beside the one that reads reports
};

ChildProcess::ChildProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChildProcess::ChildProcess(ChildProcess&&) noexcept = default;
ChildProcess& ChildProcess::operator=(ChildProcess&&) noexcept = default;
ChildProcess::~ChildProcess() = default;

Task<Result<ChildProcess>> ChildProcess::spawn(Poller& poller, SpawnOptions options) {
  if (Result<> ok = check(options); !ok) co_return fail(std::move(ok.error()));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    co_return fail(system_error(errno, "create", "a socket pair"));
  Fd ours(ends[0]);
  Fd theirs(ends[1]);
  Stream streams[3];
  const Stdio* wanted[3] = {&options.in, &options.out, &options.err};
  for (int number = 0; number < 3; ++number) {
    Result<Stream> opened = open_stream(*wanted[number], number);
    if (!opened) co_return fail(std::move(opened.error()));
    streams[number] = std::move(*opened);
  }
  Result<pid_t> guard = fail(Code::kInternal, "not started");
  {
    const Fd descriptors[4] = {std::move(streams[0].theirs), std::move(streams[1].theirs),
                               std::move(streams[2].theirs), lifted(theirs)};
    guard = start_guard(options, descriptors);
    theirs.reset();
  }
  if (!guard) co_return fail(std::move(guard.error()));
  auto state = std::make_unique<State>(poller, std::move(ours), *guard);
  state->in = std::move(streams[0].ours);
  state->out = std::move(streams[1].ours);
  state->err = std::move(streams[2].ours);
  const Result<Report> report = co_await state->next_report({});
  if (!report) co_return fail(report.error());
  if (report->kind == Report::kNoDirectory) co_return fail(system_error(report->value, "enter", options.cwd));
  if (report->kind == Report::kNotStarted)
    co_return fail(system_error(report->value, "run", options.argv.front()));
  if (report->kind != Report::kStarted)
    co_return fail(Code::kUnavailable, "{} was killed while it started", options.argv.front());
  state->child = report->value;
  co_return ChildProcess(std::move(state));
}

pid_t ChildProcess::pid() const { return state_->child; }

Task<Result<ExitStatus>> ChildProcess::wait(std::stop_token stop) {
  State& state = *state_;
  while (!state.ended) {
    if (state.somebody_reads) {
      // Woken when the reader has the status, or has been stopped and hands over.
      const runtime::Completion<bool> woken(state.poller.loop());
      const auto place = state.others.insert(state.others.end(), woken);
      const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
      const bool go_on = co_await woken;
      state.others.erase(place);
      if (!go_on) co_return fail(Code::kCancelled, "cancelled");
      continue;
    }
    state.somebody_reads = true;
    const Result<Report> report = co_await state.next_report(stop);
    state.somebody_reads = false;
    if (report) {
      state.ended = status_of(report->value);
      state.reap_guard();
    }
    for (const runtime::Completion<bool>& other : state.others) other.resolve(true);
    if (!report) co_return fail(report.error());
  }
  co_return *state.ended;
}

Task<ExitStatus> ChildProcess::terminate(std::chrono::milliseconds grace) {
  runtime::EventLoop& loop = state_->poller.loop();
  signal(SIGTERM);
  {
    const runtime::StopScope patience(loop, {}, loop.clock().steady() + grace);
    if (const Result<ExitStatus> status = co_await wait(patience.token())) co_return *status;
  }
  state_->command(guard::kKillAll);
  const Result<ExitStatus> status = co_await wait({});
  co_return status.value_or(ExitStatus{.signal = SIGKILL});
}

void ChildProcess::signal(int number) { state_->command(static_cast<std::uint8_t>(number)); }

namespace {

Task<Result<std::string>> read_some(Poller& poller, int fd, size_t max_bytes, std::stop_token stop) {
  if (fd < 0) co_return fail(Code::kInvalidArgument, "this stream of the child is no pipe");
  std::string bytes(max_bytes, '\0');
  while (true) {
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    if (got >= 0) {
      bytes.resize(static_cast<size_t>(got));
      co_return bytes;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return fail(system_error(errno, "read", "a child's output"));
    if (Result<> ready = co_await poller.readable(fd, stop); !ready) co_return fail(std::move(ready.error()));
  }
}

}  // namespace

Task<Result<std::string>> ChildProcess::read_stdout(size_t max_bytes, std::stop_token stop) {
  return read_some(state_->poller, state_->out.get(), max_bytes, std::move(stop));
}

Task<Result<std::string>> ChildProcess::read_stderr(size_t max_bytes, std::stop_token stop) {
  return read_some(state_->poller, state_->err.get(), max_bytes, std::move(stop));
}

Task<Result<>> ChildProcess::write_stdin(std::string bytes, std::stop_token stop) {
  if (!state_->in) co_return fail(Code::kInvalidArgument, "the child's input is no open pipe");
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t put = ::write(state_->in.get(), rest.data(), rest.size());
    if (put > 0) rest.remove_prefix(static_cast<size_t>(put));
    if (put >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) co_return fail(system_error(errno, "write", "a child's input"));
    if (Result<> ready = co_await state_->poller.writable(state_->in.get(), stop); !ready) co_return ready;
  }
  co_return Result<>{};
}

void ChildProcess::close_stdin() { state_->in.reset(); }

}  // namespace chela::os
