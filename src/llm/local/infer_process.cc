#include "llm/local/infer_process.h"

#include <csignal>
#include <filesystem>

#include "base/strings.h"
#include "base/utf8.h"
#include "obs/log.h"
#include "os/environment.h"
#include "runtime/sleep.h"

namespace chela::llm::local {
namespace {

constexpr size_t kReadBytes = 4096;
constexpr auto kHealthTimeout = 2s;

Error stopping() {
  return Error{.code = Code::kUnavailable, .message = "the engine is stopping"}.with("retry", "no");
}

}  // namespace

std::string beside_this_program(std::string_view name) {
  std::error_code ec;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ec);
  return (self.parent_path() / name).string();
}

InferProcess::InferProcess(InferOptions options, runtime::EventLoop& loop, os::Poller& poller,
                           net::HttpClient& http)
    : options_(std::move(options)), loop_(loop), poller_(poller), http_(http), tasks_(loop) {}

Task<Result<>> InferProcess::ensure(std::stop_token stop) {
  if (state_ == State::kReady) co_return Result<>{};
  if (tasks_.stop_token().stop_requested()) co_return fail(stopping());
  const runtime::Completion<Result<>> started(loop_);
  waiters_.push_back(started);
  const std::stop_callback on_stop(stop, [started] { started.resolve(fail(Code::kCancelled, "cancelled")); });
  if (state_ == State::kStopped) {
    state_ = State::kStarting;
    tasks_.spawn(start());
  }
  co_return co_await started;
}

// The start goes on when the caller that asked for it has gone: the next one profits.
Task<> InferProcess::start() {
  const Result<> launched = co_await launch();
  if (!launched && child_) child_->signal(SIGKILL);  // watch() sees it go
  state_ = launched && child_ ? State::kReady : State::kStopped;
  for (const auto& waiter : std::exchange(waiters_, {})) waiter.resolve(launched);
}

Task<Result<>> InferProcess::launch() {
  if (Result<> allowed = check_start_limit(); !allowed) co_return allowed;
  os::SpawnOptions spawn{
      .argv = {options_.program, "--socket", options_.socket, "--models", options_.models_dir},
      .env = os::base_environment()};
  if (options_.threads > 0)
    spawn.argv.insert(spawn.argv.end(), {"--threads", fmt::to_string(options_.threads)});
  if (options_.idle.count() > 0) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.idle);
    spawn.argv.insert(spawn.argv.end(), {"--idle-seconds", fmt::to_string(seconds.count())});
  }
  spawn.err.kind = os::Stdio::Kind::kPipe;
  recent_starts_.push_back(loop_.clock().steady());
  ++starts_;
  log_tail_.clear();
  Result<os::ChildProcess> spawned = co_await os::ChildProcess::spawn(poller_, std::move(spawn));
  if (!spawned) {
    Error error = start_error(Code::kUnavailable, spawned.error().message);
    error.message += ". Next step: build it with ./dev build, or give its path with --infer-path";
    co_return fail(std::move(error).with("retry", "no"));
  }
  child_ = std::make_shared<os::ChildProcess>(std::move(*spawned));
  log::info("llm.local", "started chela-infer", {{"pid", child_->pid()}});
  tasks_.spawn(collect_stderr(child_));
  tasks_.spawn(watch(child_));
  co_return co_await wait_until_healthy(child_);
}

Result<> InferProcess::check_start_limit() {
  const SteadyTime now = loop_.clock().steady();
  while (!recent_starts_.empty() && recent_starts_.front() + options_.start_window <= now)
    recent_starts_.pop_front();
  if (recent_starts_.size() < static_cast<size_t>(kMaxInferStarts)) return {};
  Error error =
      start_error(Code::kUnavailable, fmt::format("it ended {} times within a minute", kMaxInferStarts));
  error.message += fmt::format(
      ". Next step: try again in a minute; if it stays so, delete {} and run `chela models pull local/small`",
      options_.models_dir);
  return fail(std::move(error).with("retry", "no"));
}

Error InferProcess::start_error(Code code, std::string_view what) const {
  std::string message = fmt::format("the local model cannot be used: {}", what);
  const std::vector<std::string_view> lines = strings::split(strings::trim(log_tail_), '\n');
  if (!last_exit_.empty())
    message += fmt::format(" ({}{}{})", last_exit_, lines.back().empty() ? "" : ": ", lines.back());
  return Error{.code = code, .message = utf8::sanitize(message)};
}

Task<Result<>> InferProcess::wait_until_healthy(Child child) {
  const SteadyTime end = loop_.clock().steady() + options_.start_timeout;
  while (loop_.clock().steady() < end) {
    if (child_ != child)
      co_return fail(start_error(Code::kUnavailable, "chela-infer ended while it started"));
    if (co_await healthy()) co_return Result<>{};
    const Result<> slept = co_await runtime::sleep_for(loop_, kInferPollInterval, tasks_.stop_token());
    if (!slept) co_return fail(stopping());
  }
  co_return fail(start_error(Code::kTimeout, "chela-infer does not answer"));
}

Task<bool> InferProcess::healthy() {
  net::ClientRequest request{.url = "http://localhost/health", .unix_socket = options_.socket};
  request.connect_timeout = kHealthTimeout;
  request.stall_timeout = kHealthTimeout;
  const Result<net::HttpResponse> response = co_await http_.fetch(std::move(request), tasks_.stop_token());
  co_return response && response->status == 200;
}

Task<> InferProcess::watch(Child child) {
  Result<os::ExitStatus> ended = co_await child->wait(tasks_.stop_token());
  if (!ended) ended = co_await child->terminate();
  last_exit_ = ended->text();
  if (child_ == child) {  // else a later one has taken its place
    child_.reset();
    if (state_ == State::kReady) state_ = State::kStopped;
  }
  if (ended->ok() || tasks_.stop_token().stop_requested()) {
    log::info("llm.local", "chela-infer has ended", {{"status", last_exit_}});
  } else {
    log::warn("llm.local", "chela-infer has crashed; it is started again when needed",
              {{"status", last_exit_}});
  }
}

Task<> InferProcess::collect_stderr(Child child) {
  while (true) {
    const Result<std::string> bytes = co_await child->read_stderr(kReadBytes, tasks_.stop_token());
    if (!bytes || bytes->empty()) co_return;
    log_tail_ += *bytes;
    if (log_tail_.size() > kMaxInferLogTail) log_tail_.erase(0, log_tail_.size() - kMaxInferLogTail);
    log::debug("llm.local", utf8::sanitize(strings::trim(*bytes)));
  }
}

Task<> InferProcess::stop() {
  tasks_.stop();
  co_await tasks_.join();
}

}  // namespace chela::llm::local
