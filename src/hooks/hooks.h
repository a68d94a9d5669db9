#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"
#include "runtime/task_group.h"

namespace chela::hooks {

enum class Point {
  kBeforeInbound,
  kBeforeToolCall,
  kBeforeOutbound,
  kOnSessionStart,
  kOnSessionEnd,
  kTransformResponse
};

std::string_view point_name(Point point);  // "beforeInbound"
std::optional<Point> point_from_name(std::string_view name);

// What happens. Empty where a point has no such field.
struct Event {
  std::string user_id = {};
  std::string channel = {};
  std::string thread_id = {};
  std::string session_id = {};
  std::string tool_name = {};
  std::string context = {};  // of a tool call: "chat" or "job:<id>"
  std::string content =
      {};  // what a hook may change: the message, the reply, the JSON text of a tool's parameters
};

// What one hook says.
struct Verdict {
  std::optional<std::string> modified = std::nullopt;
  std::optional<std::string> rejected = std::nullopt;  // the reason
};

class Hook {
 public:
  virtual ~Hook() = default;
  virtual Task<Result<Verdict>> run(Point point, Event event, std::stop_token stop) = 0;
};

enum class OnFailure { kOpen, kClosed };  // an error or timeout passes the event on, or rejects it

inline constexpr int kDefaultPriority = 100;

struct Registration {
  std::string name;
  std::vector<Point> points;
  int priority = kDefaultPriority;  // lower runs first; equals by name
  std::chrono::milliseconds timeout = std::chrono::seconds(5);
  OnFailure on_failure = OnFailure::kOpen;
  std::shared_ptr<Hook> hook;
};

// What all hooks of a point say together.
struct Outcome {
  std::optional<std::string> rejected = std::nullopt;  // the reason; nobody after the rejecting hook ran
  std::string content = {};                            // after all changes
  bool modified = false;                               // content differs from the event's
};

// The hooks of one engine. Callers call run() at each point; with no hooks it passes through. Loop thread only. Its owner awaits
// close() before it goes: a hook that ignores its stop token may still run after its timeout.
class Chain {
 public:
  explicit Chain(runtime::EventLoop& loop) : loop_(loop), running_(loop) {}

  void add(Registration registration);  // replaces the one of the same name
  bool remove(std::string_view name);
  bool any(
      Point point) const;  // while true, deltas of a reply are withheld (transformResponse, beforeOutbound)

  // At onSessionStart and onSessionEnd nothing can be changed or rejected. A stop passes the event on unchanged.
  Task<Outcome> run(Point point, Event event, std::stop_token stop);
  Task<> close();

 private:
  runtime::EventLoop& loop_;
  runtime::TaskGroup running_;
  std::vector<Registration> hooks_;  // in running order
};

}  // namespace chela::hooks
