#include "obs/log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <shared_mutex>

#include "base/limits.h"
#include "base/utf8.h"
#include "obs/log_format.h"
#include "obs/log_terminal.h"
#include "obs/redaction.h"
#include "obs/ring.h"

namespace chela::log {
namespace {

constexpr std::array<std::string_view, 6> kNames{"trace", "debug", "info", "warn", "error", "off"};

// The one global of the program. Lines are formatted by the caller's thread; the sinks write them one after the other.
struct Sinks {
  std::shared_mutex mutex;
  std::shared_ptr<spdlog::sinks::sink> file;
  std::shared_ptr<spdlog::sinks::sink> terminal;
  std::string path;           // of the file, "" = none
  Level level = Level::kOff;  // of the file and of what is kept in memory
  Level terminal_level = Level::kOff;
  TerminalForm terminal_form = TerminalForm::kPeople;
  Redaction redaction;
  Ring ring;
};

// Never destroyed: threads may log until the very end of the process.
Sinks& sinks() {
  static Sinks& all = *new Sinks;
  return all;
}

void close_sinks(Sinks& all) {
  if (all.file) all.file->flush();
  all.file.reset();
  all.terminal.reset();
}

void put(spdlog::sinks::sink& sink, const std::string& text) {
  try {
    sink.log(spdlog::details::log_msg(spdlog::string_view_t(), spdlog::level::info, text));
    sink.flush();
  } catch (const std::exception& e) {
    // The disk is full, or the file went away: the log must not take the engine down, and stderr is what is left to say it.
    static std::atomic<bool> said = false;
    if (!said.exchange(true)) fmt::print(stderr, "chela: cannot write the log: {}\n", e.what());
  }
}

UnixMs system_time() {
  // The only reader of the system clock beside runtime::Clock: a log line belongs to no engine and so to no clock.
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string_view level_name(Level level) { return kNames[static_cast<size_t>(level)]; }

std::optional<Level> level_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Level>(i);
  }
  return std::nullopt;
}

namespace {

Result<std::shared_ptr<spdlog::sinks::sink>> open_file(const std::string& path) {
  try {
    auto file =
        std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, kMaxLogFileBytes, kMaxLogFiles - 1);
    file->set_pattern("%v");
    return file;
  } catch (const std::exception& e) {
    return fail(Code::kUnavailable, "cannot open the log {}: {}", path, e.what());
  }
}

}  // namespace

Result<> start(const Options& options) {
  std::shared_ptr<spdlog::sinks::sink> file;
  std::shared_ptr<spdlog::sinks::sink> terminal;
  if (!options.file.empty() && options.file_level != Level::kOff) {
    auto opened = open_file(options.file);
    if (!opened) return fail(opened.error());
    file = std::move(*opened);
  }
  if (options.terminal_level != Level::kOff) {
    terminal = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    terminal->set_pattern("%v");
  }
  Sinks& all = sinks();
  const std::unique_lock lock(all.mutex);
  close_sinks(all);
  all.file = std::move(file);
  all.terminal = std::move(terminal);
  all.path = options.file;
  all.level = options.file_level;
  all.terminal_level = options.terminal_level;
  all.terminal_form = TerminalForm::kPeople;
  detail::lowest = std::min(all.level, all.terminal_level);
  return {};
}

void stop() {
  Sinks& all = sinks();
  const std::unique_lock lock(all.mutex);
  detail::lowest = Level::kOff;
  close_sinks(all);
}

Result<> set_level(Level level) {
  Sinks& all = sinks();
  const std::unique_lock lock(all.mutex);
  if (level != Level::kOff && !all.file && !all.path.empty()) {
    auto opened = open_file(all.path);
    if (!opened) return fail(opened.error());
    all.file = std::move(*opened);
  }
  all.level = level;
  detail::lowest = std::min(all.level, all.terminal_level);
  return {};
}

void set_terminal(Level level, TerminalForm form) {
  Sinks& all = sinks();
  const std::unique_lock lock(all.mutex);
  if (!all.terminal) return;
  all.terminal_level = level;
  all.terminal_form = form;
  detail::lowest = std::min(all.level, all.terminal_level);
}

Level level() {
  Sinks& all = sinks();
  const std::shared_lock lock(all.mutex);
  return all.level;
}

std::vector<Entry> recent(std::uint64_t after, size_t limit) { return sinks().ring.recent(after, limit); }

Follower::Follower(std::function<void()> on_line) : on_line_(std::move(on_line)) {
  sinks().ring.follow(*this);
}
Follower::~Follower() { sinks().ring.leave(*this); }

void register_secret(std::string_view value) { sinks().redaction.add(value); }
std::string redact(std::string_view text) { return sinks().redaction.apply(text); }

namespace detail {

std::atomic<Level> lowest = Level::kOff;

void write(Level level, std::string_view target, std::string_view message, Fields fields) {
  if (level >= Level::kOff) return;
  Sinks& all = sinks();
  const std::shared_lock lock(all.mutex);
  const Line line{
      .time = system_time(), .level = level, .target = target, .message = message, .fields = fields};
  if (level >= all.level) {
    if (all.file) put(*all.file, json_line(line, all.redaction));
    all.ring.add(
        {.time = line.time,
         .level = level,
         .target = std::string(target),
         .message = std::string(utf8::prefix(message_text(line, all.redaction), kMaxLogRingMessageBytes))});
  }
  if (all.terminal && level >= all.terminal_level)
    put(*all.terminal, all.terminal_form == TerminalForm::kJson ? json_line(line, all.redaction)
                                                                : people_line(line, all.redaction));
}

}  // namespace detail
}  // namespace chela::log
