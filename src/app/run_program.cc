#include "app/run_program.h"

#include "base/limits.h"
#include "os/environment.h"
#include "runtime/stop_scope.h"
#include "runtime/task_group.h"

namespace chela::app {
namespace {

constexpr size_t kReadBytes = 16 * 1024;

enum class Stream { kOut, kErr };

// All of a stream; the first failure stays in `failed`.
Task<> collect(os::ChildProcess& child, Stream stream, std::string& into, std::optional<Error>& failed,
               runtime::StopScope& limit) {
  while (!failed) {
    Result<std::string> bytes = stream == Stream::kOut
                                    ? co_await child.read_stdout(kReadBytes, limit.token())
                                    : co_await child.read_stderr(kReadBytes, limit.token());
    if (!bytes) {
      if (!failed) failed = bytes.error();
      co_return;
    }
    if (bytes->empty()) co_return;
    into += *bytes;
    if (into.size() > kMaxCommandOutput) {
      failed = Error{.code = Code::kTooLarge,
                     .message = fmt::format("the program wrote more than {} bytes", kMaxCommandOutput)};
      limit.cancel();
    }
  }
}

}  // namespace

Task<Result<ProgramResult>> run_program(runtime::EventLoop& loop, os::Poller& poller,
                                        std::vector<std::string> argv,
                                        std::vector<std::pair<std::string, std::string>> more,
                                        std::chrono::milliseconds wait, std::stop_token stop) {
  const std::string name = argv.front();
  os::SpawnOptions options{.argv = std::move(argv), .env = os::base_environment()};
  options.env.insert(options.env.end(), more.begin(), more.end());
  options.out.kind = options.err.kind = os::Stdio::Kind::kPipe;
  Result<os::ChildProcess> child = co_await os::ChildProcess::spawn(poller, std::move(options));
  if (!child) co_return fail(child.error());
  runtime::StopScope limit(loop, stop, loop.clock().steady() + wait);
  ProgramResult result;
  std::optional<Error> failed;
  {
    runtime::TaskGroup readers(loop);
    readers.spawn(collect(*child, Stream::kOut, result.out, failed, limit));
    readers.spawn(collect(*child, Stream::kErr, result.err, failed, limit));
    co_await readers.join();
  }
  if (!failed) {
    const Result<os::ExitStatus> status = co_await child->wait(limit.token());
    if (status)
      result.status = *status;
    else
      failed = status.error();
  }
  if (!failed) co_return result;
  co_await child->terminate();
  if (failed->code == Code::kCancelled) co_return fail(limit.reason(name));
  co_return fail(*failed);
}

}  // namespace chela::app
