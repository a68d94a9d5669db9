#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"

// The log: JSON lines in a file, the people's form on a terminal's stderr. The one global of the program: anything may report
// anywhere. Thread-safe; costs one atomic read when the level is off. Never give it a secret on purpose; those registered are
// masked wherever they turn up.
//
//   log::info("gateway", "listening", {{"port", 3000}});
namespace chela::log {

enum class Level { kTrace, kDebug, kInfo, kWarn, kError, kOff };

std::string_view level_name(Level level);  // "info"
std::optional<Level> level_from_name(std::string_view name);

// A detail of a line. The keys thread, turn and trace become members of the line, all others members of its "fields".
struct Field {
  using Value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view>;

  Field(std::string_view k, bool v) : key(k), value(v) {}
  Field(std::string_view k, int v) : key(k), value(static_cast<std::int64_t>(v)) {}
  Field(std::string_view k, long v) : key(k), value(static_cast<std::int64_t>(v)) {}
  Field(std::string_view k, long long v) : key(k), value(static_cast<std::int64_t>(v)) {}
  Field(std::string_view k, unsigned v) : key(k), value(static_cast<std::uint64_t>(v)) {}
  Field(std::string_view k, unsigned long v) : key(k), value(static_cast<std::uint64_t>(v)) {}
  Field(std::string_view k, unsigned long long v) : key(k), value(static_cast<std::uint64_t>(v)) {}
  Field(std::string_view k, double v) : key(k), value(v) {}
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}

  std::string_view key;
  Value value;  // text lives until the call returns
};
using Fields = std::initializer_list<Field>;

struct Options {
  std::string file;                    // "" writes none; the directory exists
  Level file_level = Level::kInfo;     // of the file, and of the lines kept in memory
  Level terminal_level = Level::kOff;  // what stderr shows; the caller knows whether it is a terminal
};

// Opens the sinks; until then lines are dropped. Again: replaces them.
Result<> start(const Options& options);
// Writes what is buffered and closes the sinks.
void stop();

// What goes to the file and is kept in memory; the terminal's level stays. From now on, whatever start() was told.
Result<> set_level(Level level);
Level level();

// A line that was kept in memory. `message` holds the fields too, and no registered secret.
struct Entry {
  std::uint64_t number = 0;  // from 1, without gaps
  UnixMs time = 0;
  Level level = Level::kInfo;
  std::string target;
  std::string message;
};
// The newest kept lines with a number above `after`, oldest first, at most `limit`. kLogRingEntries are kept, also after stop().
std::vector<Entry> recent(std::uint64_t after, size_t limit);

// Calls back after every line that was kept, from the thread that wrote it: must neither block nor log. Ends with the object, which
// waits for a running callback.
class Follower {
 public:
  explicit Follower(std::function<void()> on_line);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

 private:
  std::function<void()> on_line_;
  friend class Ring;
};

// Masks this value as [redacted] in every line from now on. Values under kMinSecretBytes are ignored: they would mask plain words.
inline constexpr size_t kMinSecretBytes = 6;
void register_secret(std::string_view value);
// The text with all registered secrets masked, for other ways out.
std::string redact(std::string_view text);

namespace detail {
extern std::atomic<Level> lowest;
void write(Level level, std::string_view target, std::string_view message, Fields fields);
}  // namespace detail

inline bool enabled(Level level) { return level >= detail::lowest.load(std::memory_order_relaxed); }

inline void write(Level level, std::string_view target, std::string_view message, Fields fields = {}) {
  if (enabled(level)) detail::write(level, target, message, fields);
}
inline void trace(std::string_view target, std::string_view message, Fields fields = {}) {
  write(Level::kTrace, target, message, fields);
}
inline void debug(std::string_view target, std::string_view message, Fields fields = {}) {
  write(Level::kDebug, target, message, fields);
}
inline void info(std::string_view target, std::string_view message, Fields fields = {}) {
  write(Level::kInfo, target, message, fields);
}
inline void warn(std::string_view target, std::string_view message, Fields fields = {}) {
  write(Level::kWarn, target, message, fields);
}
inline void error(std::string_view target, std::string_view message, Fields fields = {}) {
  write(Level::kError, target, message, fields);
}

}  // namespace chela::log
