#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bus/bus.h"
#include "bus/observability/options.h"
#include "net/http_client.h"
#include "runtime/task_group.h"

namespace chela::bus::observability {

// Compares measures with thresholds every kAlertPeriod and acts when one is crossed. A metric that only grows (iii.invocations.*,
// iii.workers.spawns and .deaths) counts what it grew by within the window, any other one its latest value. Loop thread only; its owner
// awaits stop().
class Alerts {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    Bus& bus;
    net::HttpClient& http;
    std::function<double(std::string_view metric)> value;
  };
  Alerts(Parts parts, std::vector<AlertRule> rules);
  ~Alerts();

  void start();
  Task<> stop();

  // Now, out of turn; gives the names of those that fired.
  std::vector<std::string> evaluate();
  json::Value list() const;
  size_t size() const { return alerts_.size(); }

 private:
  struct Alert {
    AlertRule rule;
    std::deque<std::pair<SteadyTime, double>> seen;  // within the window, for what grows
    double current = 0;
    bool firing = false;
    UnixMs evaluated = 0;
    UnixMs triggered = 0;
    std::optional<SteadyTime> quiet_until = std::nullopt;
  };
  void watch();
  void measure(Alert& alert);
  void act(const Alert& alert);
  Task<> tell_webhook(std::string url, json::Value what);
  Task<> tell_function(std::string id, json::Value what);

  const Parts parts_;
  std::vector<Alert> alerts_;
  std::optional<runtime::TimerId> timer_;
  runtime::TaskGroup tasks_;
  bool stopped_ = false;
};

}  // namespace chela::bus::observability
