#include "bus/observability/alerts.h"

#include "bus/observability/limits.h"
#include "net/egress.h"
#include "obs/log.h"

namespace chela::bus::observability {
namespace {

bool grows(std::string_view metric) {
  return metric.starts_with("iii.invocations.") || metric == "iii.workers.spawns" ||
         metric == "iii.workers.deaths";
}

bool crossed(const AlertRule& rule, double value) {
  if (rule.comparison == ">") return value > rule.threshold;
  if (rule.comparison == ">=") return value >= rule.threshold;
  if (rule.comparison == "<") return value < rule.threshold;
  if (rule.comparison == "<=") return value <= rule.threshold;
  if (rule.comparison == "==") return value == rule.threshold;
  return value != rule.threshold;
}

}  // namespace

Alerts::Alerts(Parts parts, std::vector<AlertRule> rules) : parts_(std::move(parts)), tasks_(parts_.loop) {
  for (AlertRule& rule : rules) alerts_.push_back({.rule = std::move(rule), .seen = {}});
}

Alerts::~Alerts() {
  if (timer_) parts_.loop.cancel(*timer_);
}

void Alerts::start() {
  for (Alert& alert : alerts_) measure(alert);  // where growth begins
  watch();
}

void Alerts::watch() {
  if (alerts_.empty() || stopped_) return;
  timer_ = parts_.loop.call_at(parts_.loop.clock().steady() + kAlertPeriod, [this] {
    timer_.reset();
    (void)evaluate();
    watch();
  });
}

Task<> Alerts::stop() {
  stopped_ = true;
  if (timer_) parts_.loop.cancel(*timer_);
  timer_.reset();
  tasks_.stop();
  co_await tasks_.join();
}

// The window has one value for each period, and those that people ask for in between only at its end.
void Alerts::measure(Alert& alert) {
  const double value = parts_.value(alert.rule.metric);
  if (!grows(alert.rule.metric)) {
    alert.current = value;
    return;
  }
  const SteadyTime now = parts_.loop.clock().steady();
  while (alert.seen.size() > 1 && alert.seen[1].first + alert.rule.window <= now) alert.seen.pop_front();
  if (alert.seen.empty() || now - alert.seen.back().first >= kAlertPeriod)
    alert.seen.emplace_back(now, value);
  alert.current = value - alert.seen.front().second;
}

std::vector<std::string> Alerts::evaluate() {
  std::vector<std::string> fired;
  const SteadyTime now = parts_.loop.clock().steady();
  for (Alert& alert : alerts_) {
    if (!alert.rule.enabled || stopped_) continue;
    measure(alert);
    alert.evaluated = parts_.loop.clock().now();
    alert.firing = crossed(alert.rule, alert.current);
    if (!alert.firing || (alert.quiet_until && now < *alert.quiet_until)) continue;
    alert.triggered = alert.evaluated;
    alert.quiet_until = now + alert.rule.cooldown;
    fired.push_back(alert.rule.name);
    act(alert);
  }
  return fired;
}

void Alerts::act(const Alert& alert) {
  const AlertRule& rule = alert.rule;
  json::Value what = json::Value::object({{"name", rule.name},
                                          {"metric", rule.metric},
                                          {"current_value", alert.current},
                                          {"threshold", rule.threshold},
                                          {"operator", rule.comparison},
                                          {"timestamp", alert.triggered}});
  switch (rule.action) {
    case AlertRule::Action::kLog:
      log::warn("bus", "an alert fires",
                {{"alert", rule.name},
                 {"metric", rule.metric},
                 {"value", alert.current},
                 {"operator", rule.comparison},
                 {"threshold", rule.threshold}});
      return;
    case AlertRule::Action::kWebhook:
      return tasks_.spawn(tell_webhook(rule.target, std::move(what)));
    case AlertRule::Action::kFunction:
      return tasks_.spawn(tell_function(rule.target, std::move(what)));
  }
}

Task<> Alerts::tell_webhook(std::string url, json::Value what) {
  const Result<std::shared_ptr<const net::EgressPolicy>> egress = net::EgressPolicy::exact_url(url);
  if (!egress) co_return;  // the configuration was refused then
  net::ClientRequest request{.method = "POST",
                             .url = url,
                             .body = json::write(what),
                             .deadline = parts_.loop.clock().steady() + kWebhookTime,
                             .max_body = kMaxWebhookAnswer,
                             .egress = *egress};
  request.headers.add("Content-Type", "application/json");
  const Result<net::HttpResponse> answer =
      co_await parts_.http.fetch(std::move(request), tasks_.stop_token());
  if (answer && answer->status < 400) co_return;
  log::warn("bus", "the webhook of an alert could not be told",
            {{"alert", what.string_or("name")},
             {"error", answer ? fmt::format("HTTP {}", answer->status) : answer.error().message}});
}

// In the name of the engine's own user: its workers and administrators' are reached.
Task<> Alerts::tell_function(std::string id, json::Value what) {
  const std::string name = what.string_or("name");
  const op::Principal engine{.realm = "default", .user = "default", .permissions = {"*"}};
  const Result<json::Value> done =
      co_await parts_.bus.call({.principal = engine,
                                .scope = engine.scope(),
                                .deadline = parts_.loop.clock().steady() + kWebhookTime,
                                .stop = tasks_.stop_token()},
                               std::move(id), std::move(what));
  if (!done)
    log::warn("bus", "the function of an alert failed", {{"alert", name}, {"error", done.error().message}});
}

json::Value Alerts::list() const {
  json::Value rows = json::Value::array();
  size_t firing = 0;
  for (const Alert& each : alerts_) {
    firing += each.firing ? 1 : 0;
    rows.push_back(json::Value::object(
        {{"name", each.rule.name},
         {"firing", each.firing},
         {"last_evaluated", each.evaluated == 0 ? json::Value() : json::Value(each.evaluated)},
         {"last_triggered", each.triggered == 0 ? json::Value() : json::Value(each.triggered)},
         {"current_value", each.current},
         {"threshold", each.rule.threshold},
         {"operator", each.rule.comparison}}));
  }
  return json::Value::object(
      {{"alerts", std::move(rows)}, {"firing_count", firing}, {"timestamp", parts_.loop.clock().now()}});
}

}  // namespace chela::bus::observability
