#include "api/operations.h"
#include "api/schema_text.h"
#include "base/limits.h"
#include "obs/log.h"
#include "runtime/completion.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

constexpr std::string_view kAdmin = "admin";
constexpr size_t kPage = 64;  // lines handed to the client before it is waited for

// Wakes a follower on the loop, however many lines come meanwhile: it takes what is there, and what fell out of the ring is counted.
class Bell {
 public:
  explicit Bell(runtime::EventLoop& loop) : state_(std::make_shared<State>(loop)) {}

  // From any thread, in the middle of logging.
  void ring() const {
    const std::lock_guard lock(state_->mutex);
    state_->rung = true;
    if (state_->waiting) state_->waiting->resolve(true);
  }

  Task<bool> wait(std::stop_token stop) {
    const std::shared_ptr<State> state = state_;
    std::optional<runtime::Completion<bool>> woken;
    {
      const std::lock_guard lock(state->mutex);
      if (!std::exchange(state->rung, false)) {
        woken.emplace(state->loop);
        state->waiting = woken;
      }
    }
    if (!woken) co_return !stop.stop_requested();
    const runtime::Completion<bool> done = *woken;
    const std::stop_callback on_stop(stop, [done] { done.resolve(false); });
    const bool more = co_await done;
    const std::lock_guard lock(state->mutex);
    state->waiting.reset();
    state->rung = false;
    co_return more;
  }

 private:
  struct State {
    explicit State(runtime::EventLoop& l) : loop(l) {}
    runtime::EventLoop& loop;
    std::mutex mutex;
    bool rung = false;
    std::optional<runtime::Completion<bool>> waiting;
  };
  std::shared_ptr<State> state_;
};

op::Event line_event(UnixMs time, log::Level level, std::string_view target, std::string_view message) {
  return {.name = "log",
          .data = json::write(Value::object({{"type", "log"},
                                             {"level", log::level_name(level)},
                                             {"target", target},
                                             {"message", message},
                                             {"timestamp", format_rfc3339(time)}}))};
}

// How many follow the log, counted while it lives.
struct Place {
  explicit Place(size_t& count) : count_(count) { ++count_; }
  ~Place() { --count_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  size_t& count_;
};

Task<Result<Value>> follow(runtime::EventLoop& loop, std::shared_ptr<size_t> followers, CallContext context,
                           op::EventSink& sink) {
  if (*followers >= kMaxLogFollowers)
    co_return fail(Code::kRateLimited, "{} follow the log already; close one first", kMaxLogFollowers);
  const Place place(*followers);
  Bell bell(loop);
  const log::Follower follower([bell] { bell.ring(); });
  if (Result<> opened = sink.open(); !opened) co_return fail(opened.error());
  std::vector<log::Entry> lines = log::recent(0, kLogReplayEntries);
  std::uint64_t last = 0;
  while (true) {
    size_t sent = 0;
    for (const log::Entry& line : lines) {
      if (last != 0 && line.number != last + 1) {
        const std::string lost =
            fmt::format("{} lines came too fast to be shown here", line.number - last - 1);
        if (Result<> told = sink.emit(line_event(line.time, log::Level::kWarn, "log", lost)); !told)
          co_return fail(told.error());
      }
      last = line.number;
      Result<> emitted = sink.emit(line_event(line.time, line.level, line.target, line.message));
      if (!emitted) co_return fail(emitted.error());
      if (++sent % kPage != 0) continue;
      if (Result<> left = co_await sink.drained(); !left) co_return fail(left.error());
    }
    if (Result<> left = co_await sink.drained(); !left) co_return fail(left.error());
    if (!co_await bell.wait(context.stop)) co_return Value();
    lines = log::recent(last, kLogRingEntries);
  }
}

Value level_value() { return Value::object({{"level", log::level_name(log::level())}}); }

Task<Result<Value>> read_level() { co_return level_value(); }

Task<Result<Value>> write_level(CallContext context, Value args) {
  const std::string name = args.string_or("level");
  const std::optional<log::Level> level = log::level_from_name(name);
  if (!level) co_return fail(Code::kUnprocessable, "there is no level '{}'", name);
  if (Result<> set = log::set_level(*level); !set) co_return fail(set.error());
  log::info("log", "the level was changed", {{"level", name}, {"user", context.principal.user}});
  co_return level_value();
}

}  // namespace

Result<> add_logs(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  const auto followers = std::make_shared<size_t>(0);
  op::Operation following{.id = "log::events",
                          .help = "The engine's log: the last 500 lines, then each as it is written.",
                          .in = no_input(),
                          .out = schema(R"({"type": "object", "properties": {
        "type": {"const": "log"}, "level": {"type": "string"}, "target": {"type": "string"}, "message": {"type": "string"},
        "timestamp": {"type": "string"}}})"),
                          .permission = std::string(kAdmin),
                          .kind = op::Kind::kEvents,
                          .routes = {route("GET", "/api/logs/events")},
                          .idempotent = op::Idempotent::kYes,
                          .handler = [s, followers](CallContext c, Value, op::EventSink& sink) {
                            return follow(*s->loop, followers, std::move(c), sink);
                          }};
  constexpr std::string_view kLevel =
      R"({"type": "object", "required": ["level"], "properties": {"level": {"enum": ["trace", "debug", "info", "warn", "error"]}}})";
  op::Operation reading{.id = "log::level",
                        .help = "The least serious lines that are written.",
                        .in = no_input(),
                        .out = schema(kLevel),
                        .permission = std::string(kAdmin),
                        .routes = {route("GET", "/api/logs/level")},
                        .idempotent = op::Idempotent::kYes,
                        .handler = [](CallContext, Value) { return read_level(); }};
  op::Operation changing{
      .id = "log::set_level",
      .help = "Changes that until the next start, or until the setting log.level is changed.",
      .in = schema(kLevel),
      .out = schema(kLevel),
      .permission = std::string(kAdmin),
      .routes = {route("PUT", "/api/logs/level")},
      .idempotent = op::Idempotent::kYes,
      .handler = [](CallContext c, Value a) { return write_level(std::move(c), std::move(a)); }};
  return add_all(registry, {following, reading, changing});
}

}  // namespace chela::api
