// chela-infer: serves the local models to the engine, and ends with it.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>

#include "base/strings.h"
#include "infer/server.h"
#include "os/fd.h"
#include "os/poller.h"
#include "os/signals.h"
#include "runtime/task_group.h"

namespace {

using namespace chela;

constexpr std::string_view kUsage =
    "usage: chela-infer --socket PATH --models DIR [--idle-seconds N] [--threads N] [--parent-pid PID]\n"
    "Serves local models as an OpenAI-compatible HTTP server on a Unix socket. Ends after N seconds without "
    "a chat or embedding request\n"
    "(600), with SIGTERM, and when the process PID (its parent) ends; --parent-pid 0 watches none.\n";

constexpr int kMaxThreads = 64;
constexpr int kMaxIdleSeconds = 7 * 24 * 3600;

struct Arguments {
  std::string socket;
  std::string models;
  int idle_seconds = static_cast<int>(infer::kDefaultIdle.count());
  int threads = infer::default_threads();
  int parent = ::getppid();
};

Result<int> number(std::string_view name, std::string_view text, int low, int high) {
  const auto value = strings::parse_int<int>(text);
  if (!value || *value < low || *value > high)
    return fail(Code::kInvalidArgument, "{} must be a whole number from {} to {}, not \"{}\"", name, low,
                high, text);
  return *value;
}

Result<Arguments> parse(int count, char** values) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = values[i];
    if (i + 1 >= count) return fail(Code::kInvalidArgument, "{} needs a value", name);
    const std::string_view value = values[++i];
    Result<int> parsed = 0;
    if (name == "--socket") {
      out.socket = value;
    } else if (name == "--models") {
      out.models = value;
    } else if (name == "--idle-seconds") {
      if ((parsed = number(name, value, 1, kMaxIdleSeconds))) out.idle_seconds = *parsed;
    } else if (name == "--threads") {
      if ((parsed = number(name, value, 1, kMaxThreads))) out.threads = *parsed;
    } else if (name == "--parent-pid") {
      if ((parsed = number(name, value, 0, 1 << 30))) out.parent = *parsed;
    } else {
      return fail(Code::kInvalidArgument, "unknown option {}", name);
    }
    if (!parsed) return fail(parsed.error());
  }
  if (out.socket.empty() || out.models.empty())
    return fail(Code::kInvalidArgument, "--socket and --models are needed");
  return out;
}

// A descriptor that becomes readable when the process ends. Unlike a death signal it does not depend on which thread of the parent
// started this process.
Result<os::Fd> open_process(int pid) {
  os::Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (fd) return fd;
  if (errno == ESRCH) return fail(Code::kUnavailable, "the parent process {} has ended already", pid);
  return fail(Code::kInternal, "cannot watch the parent process {}: errno {}", pid, errno);
}

Task<> stop_with_parent(os::Poller& poller, int fd, infer::Server& server, std::stop_token stop) {
  if (co_await poller.readable(fd, std::move(stop))) server.stop();
}

Task<Result<>> serve(runtime::AsioLoop& loop, os::Poller& poller, infer::Server& server,
                     Arguments arguments) {
  runtime::TaskGroup watches(loop);
  os::Fd parent;
  if (arguments.parent != 0) {
    auto opened = open_process(arguments.parent);
    if (!opened) co_return fail(opened.error());
    parent = *std::move(opened);
    watches.spawn(stop_with_parent(poller, parent.get(), server, watches.stop_token()));
  }
  auto signals = os::SignalWatch::create(poller, {SIGTERM, SIGINT}, [&server](int) { server.stop(); });
  if (signals) co_await server.run();
  watches.stop();
  co_await watches.join();
  if (!signals) co_return fail(signals.error());
  co_await (*signals)->close();
  co_return Result<>{};
}

Result<> run(Arguments arguments) {
  os::block_signals({SIGTERM, SIGINT});
  std::signal(SIGPIPE, SIG_IGN);
  runtime::AsioLoop loop;
  auto poller = os::Poller::create(loop);
  if (!poller) return fail(poller.error());
  infer::Server server(loop, {.host = {.models = arguments.models, .threads = arguments.threads},
                              .idle = std::chrono::seconds(arguments.idle_seconds)});
  if (auto listening = server.listen(arguments.socket); !listening) return listening;
  fmt::print(stderr, "chela-infer: listening on {}, models in {}, {} thread(s)\n", arguments.socket,
             arguments.models, arguments.threads);
  return runtime::block_on(loop, serve(loop, **poller, server, std::move(arguments)));
}

int report(const Error& error) {
  fmt::print(stderr, "chela-infer: {}\n", error.message);
  return exit_code(error.code);
}

}  // namespace

int main(int count, char** values) {
  if (count == 2 && std::string_view(values[1]) == "--help") {
    fmt::print("{}", kUsage);
    return 0;
  }
  auto arguments = parse(count, values);
  if (!arguments) {
    const int code = report(arguments.error());
    fmt::print(stderr, "{}", kUsage);
    return code;
  }
  const auto ended = run(*std::move(arguments));
  return ended ? 0 : report(ended.error());
}
