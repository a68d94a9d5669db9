#include "hooks/hooks.h"

#include <algorithm>
#include <array>

#include "obs/log.h"
#include "runtime/completion.h"
#include "runtime/stop_scope.h"

namespace chela::hooks {
namespace {

constexpr std::array<std::string_view, 6> kNames{"beforeInbound",  "beforeToolCall", "beforeOutbound",
                                                 "onSessionStart", "onSessionEnd",   "transformResponse"};

using Answer = runtime::Completion<Result<Verdict>>;

Task<> run_one(std::shared_ptr<Hook> hook, Point point, Event event, std::stop_token stop, Answer answer) {
  answer.resolve(co_await hook->run(point, std::move(event), std::move(stop)));
}

bool changes_allowed(Point point) { return point != Point::kOnSessionStart && point != Point::kOnSessionEnd; }

}  // namespace

std::string_view point_name(Point point) { return kNames[static_cast<size_t>(point)]; }

std::optional<Point> point_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Point>(i);
  }
  return std::nullopt;
}

void Chain::add(Registration registration) {
  remove(registration.name);
  const auto behind = std::upper_bound(hooks_.begin(), hooks_.end(), registration,
                                       [](const Registration& a, const Registration& b) {
                                         return std::tie(a.priority, a.name) < std::tie(b.priority, b.name);
                                       });
  hooks_.insert(behind, std::move(registration));
}

bool Chain::remove(std::string_view name) {
  return std::erase_if(hooks_, [name](const Registration& each) { return each.name == name; }) > 0;
}

bool Chain::any(Point point) const {
  return std::any_of(hooks_.begin(), hooks_.end(), [point](const Registration& each) {
    return std::find(each.points.begin(), each.points.end(), point) != each.points.end();
  });
}

Task<Outcome> Chain::run(Point point, Event event, std::stop_token stop) {
  const std::string original = event.content;
  std::vector<Registration> due;  // a copy: hooks may come and go while one runs
  for (const Registration& each : hooks_) {
    if (std::find(each.points.begin(), each.points.end(), point) != each.points.end()) due.push_back(each);
  }
  for (const Registration& each : due) {
    if (stop.stop_requested()) break;
    runtime::StopScope scope(loop_, stop, loop_.clock().steady() + each.timeout);
    const Answer answer(loop_);
    // A hook that does not heed its stop token is not waited for; what it says later is dropped.
    const std::stop_callback on_stop(scope.token(), [&answer, &scope, &each] {
      answer.resolve(fail(scope.reason("the hook " + each.name)));
    });
    running_.spawn(run_one(each.hook, point, event, scope.token(), answer));
    const Result<Verdict> verdict = co_await answer;
    if (!verdict) {
      if (stop.stop_requested()) break;
      log::warn("hooks", "a hook failed",
                {{"hook", each.name}, {"point", point_name(point)}, {"error", verdict.error().text()}});
      if (each.on_failure == OnFailure::kClosed && changes_allowed(point)) {
        co_return Outcome{.rejected = fmt::format("the hook {} failed", each.name), .content = original};
      }
      continue;
    }
    if (!changes_allowed(point)) continue;
    if (verdict->rejected) co_return Outcome{.rejected = verdict->rejected, .content = original};
    if (verdict->modified) event.content = *verdict->modified;
  }
  if (stop.stop_requested()) event.content = original;
  const bool modified = event.content != original;
  co_return Outcome{.content = std::move(event.content), .modified = modified};
}

Task<> Chain::close() {
  running_.stop();
  co_await running_.join();
}

}  // namespace chela::hooks
