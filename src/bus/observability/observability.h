#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bus/bus.h"
#include "bus/module.h"
#include "bus/observability/alerts.h"
#include "bus/observability/counts.h"
#include "bus/observability/options.h"
#include "bus/observability/rollups.h"
#include "bus/observability/sampling.h"
#include "bus/observability/store.h"
#include "bus/observability/trace_triggers.h"
#include "bus/observer.h"
#include "bus/provider.h"
#include "net/http_client.h"
#include "runtime/id_source.h"
#include "runtime/task_group.h"

namespace chela::bus::observability {

// What happens on the bus, for people and workers to look at: spans of calls and of SDKs, logs, measures, and alerts on them. All of it is
// kept in memory, within limits, and belongs to the user whose it is. Loop thread only.
class Observability final : public Module, public TriggerProvider, public Observer {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    Bus& bus;
    runtime::IdSource& ids;
    net::HttpClient& http;
  };
  Observability(Parts parts, Options options);
  ~Observability() override;

  // Module
  Task<Result<>> start() override;
  Task<> stop() override;
  json::Value status() const override;
  // TriggerProvider of `log`
  Result<> bind(BoundTriggerPtr trigger) override;
  void release(const BoundTrigger& trigger) override;
  // Observer
  Watch began(const Call& call) override;
  void ended(std::uint64_t id, std::string_view code, std::string_view message) override;
  void connected(const Worker& worker) override;
  void gone(const Worker& worker) override;
  void measured(std::string_view tenant, std::string_view frame) override;
  json::Value latest_metrics(const Worker& worker) const override;

  // functions.cc: what the functions of this name answer.
  Result<json::Value> add_log(const LocalCall& call, int severity);
  Result<json::Value> list_logs(const Viewer& viewer, const json::Value& query);
  Result<json::Value> list_spans(const Viewer& viewer, const json::Value& query);
  Result<json::Value> group_spans(const Viewer& viewer, const json::Value& query);
  Result<json::Value> span_tree(const Viewer& viewer, const json::Value& query);
  Result<json::Value> list_metrics(const Viewer& viewer, const json::Value& query);
  Result<json::Value> list_rollups(const Viewer& viewer, const json::Value& query) const;
  json::Value sampling_rules() const { return sampler_.describe(); }
  json::Value health() const;
  Alerts& alerts() { return alerts_; }
  Store& logs() { return logs_; }
  Store& spans() { return spans_; }

 private:
  struct Open {
    std::string function_id;
    std::string tenant;
    std::string trace_id;  // "" = not sampled: counted only
    std::string span_id;
    std::string parent_span_id;
    Kind kind;
    UnixMs started;
    SteadyTime since;
  };

  UnixMs now() const { return loop_.clock().now(); }
  bool keep_log(const std::string& tenant, json::Value log);
  void keep_span(const std::string& tenant, json::Value span);
  json::Value span_of(const Open& open, std::optional<std::chrono::nanoseconds> took, std::string_view code,
                      std::string_view message) const;
  // Those that are kept, and the calls under way.
  // Spans of calls under way are made for it and stay in `open`.
  void each_span(const Viewer& viewer, std::deque<json::Value>& open,
                 const std::function<void(const json::Value&)>& visit);
  bool samples(const Call& call, const std::optional<bool>& parent_samples);
  void tell_logs();
  double value_of(std::string_view metric);
  Result<> add_functions();
  size_t active_workers(const Viewer& viewer) const;

  runtime::EventLoop& loop_;
  Bus& bus_;
  runtime::IdSource& ids_;
  const Options options_;
  Store spans_;
  Store logs_;
  Store points_;
  Counts counts_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::uint64_t last_open_ = 0;
  Sampler sampler_;
  Sampler log_sampler_;
  Rollups rollups_;
  TraceTriggers trace_triggers_;
  std::vector<BoundTriggerPtr> listeners_;
  std::vector<std::pair<std::string, json::Value>> untold_;
  std::optional<runtime::TimerId> tell_timer_;
  std::uint64_t untellable_ = 0;
  std::unordered_map<std::string, json::Value> latest_;  // by tenant, and the worker's name or id
  Alerts alerts_;
  bool stopped_ = false;
};

// "modules::observability::OtelModule", "iii-observability"
ModuleKind kind();

}  // namespace chela::bus::observability
