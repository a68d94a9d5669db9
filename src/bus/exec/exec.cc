#include "bus/exec/exec.h"

#include <algorithm>

#include "bus/config_reader.h"
#include "bus/exec/limits.h"
#include "obs/log.h"
#include "os/environment.h"
#include "runtime/asio_loop.h"
#include "runtime/sleep.h"
#include "runtime/stop_scope.h"

namespace chela::bus::exec {
namespace {

Result<std::unique_ptr<Module>> make(ModuleParts& parts, const json::Value& config) {
  ConfigReader reader("exec", config);
  Exec::Options options{
      .directory = parts.directory, .commands = reader.texts("exec"), .watch = reader.texts("watch")};
  if (options.commands.empty()) reader.refuse("exec", "must be a list of one command at least");
  if (options.commands.size() > kMaxCommands)
    reader.refuse("exec", fmt::format("has more than {} commands", kMaxCommands));
  for (const std::string& each : options.commands) {
    if (each.empty() || each.size() > kMaxCommandBytes)
      reader.refuse("exec", fmt::format("a command has 1 to {} bytes", kMaxCommandBytes));
  }
  if (options.watch.size() > kMaxPatterns)
    reader.refuse("watch", fmt::format("has more than {} patterns", kMaxPatterns));
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  return std::make_unique<Exec>(parts, std::move(options));
}

}  // namespace

Exec::Exec(ModuleParts& parts, Options options)
    : loop_(parts.loop),
      poller_(parts.poller),
      pool_(parts.pool),
      options_(std::move(options)),
      tasks_(parts.loop) {}

Task<Result<>> Exec::start() { co_return Result<>{}; }

void Exec::opened() {
  tasks_.spawn(supervise());
  if (!options_.watch.empty()) tasks_.spawn(watch());
}

Task<> Exec::stop() {
  tasks_.stop();
  co_await tasks_.join();
}

json::Value Exec::status() const {
  return json::Value::object(
      {{"commands", options_.commands.size()}, {"running", running_}, {"starts", starts_}});
}

// Each round runs all commands; a new one begins when a file changed or the last command failed.
Task<> Exec::supervise() {
  const std::stop_token stop = tasks_.stop_token();
  std::chrono::milliseconds pause = kFirstRestart;
  while (!stop.stop_requested()) {
    round_ = std::stop_source();
    const std::stop_token round = round_.get_token();
    runtime::StopScope scope(loop_, stop);
    const std::stop_callback on_change(round, [&scope] { scope.cancel(); });
    Result<os::ExitStatus> ended = os::ExitStatus{};
    std::string command;
    for (const std::string& each : options_.commands) {
      command = each;
      ended = co_await run(each, scope.token());
      if (!ended || !ended->ok()) break;
    }
    running_.clear();
    if (stop.stop_requested()) co_return;
    if (round.stop_requested()) {
      pause = kFirstRestart;
      continue;
    }
    if (ended && ended->ok()) {
      log::info("exec", "the commands are done", {{"last", command}});
      if (options_.watch.empty()) co_return;
    } else {
      log::warn("exec", "a command failed and is started again",
                {{"command", command},
                 {"reason", ended ? ended->text() : ended.error().message},
                 {"after_ms", pause.count()}});
      if (const Result<> slept = co_await runtime::sleep_for(loop_, pause, scope.token()); slept) {
        pause = std::min<std::chrono::milliseconds>(2 * pause, kLastRestart);
        continue;
      }
    }
    // Until a file changes.
    const runtime::Completion<bool> woken(loop_);
    const std::stop_callback on_wake(scope.token(), [woken] { woken.resolve(true); });
    co_await woken;
    pause = kFirstRestart;
  }
}

Task<Result<os::ExitStatus>> Exec::run(std::string command, std::stop_token stop) {
  os::SpawnOptions options{.argv = {"/bin/sh", "-c", command}, .cwd = options_.directory.string()};
  for (const auto& [name, value] : os::environment()) options.env.emplace_back(name, value);
  options.out.kind = options.err.kind = os::Stdio::Kind::kInherit;
  Result<os::ChildProcess> child = co_await os::ChildProcess::spawn(poller_, std::move(options));
  if (!child) co_return fail(child.error());
  ++starts_;
  running_ = command;
  log::info("exec", "a command runs", {{"command", command}, {"pid", child->pid()}});
  Result<os::ExitStatus> status = co_await child->wait(stop);
  if (status) co_return status;
  co_return co_await child->terminate();
}

Task<> Exec::watch() {
  const std::stop_token stop = tasks_.stop_token();
  const auto look_now = [directory = options_.directory, patterns = options_.watch]() -> Result<Seen> {
    return look(directory, patterns);
  };
  std::optional<Seen> before;
  for (;;) {
    Result<Seen> now = co_await pool_.run(look_now);
    if (now && before && *now != *before) {
      log::info("exec", "a watched file has changed: the commands begin anew");
      round_.request_stop();
    }
    if (now) before = std::move(*now);
    if (const Result<> slept = co_await runtime::sleep_for(loop_, kWatchInterval, stop); !slept) co_return;
  }
}

ModuleKind kind() {
  return {.names = {"modules::shell::ExecModule", "iii-exec"},
          .make = make,
          .when = ModuleKind::When::kNamed,
          .count = ModuleKind::Count::kMany};
}

}  // namespace chela::bus::exec
