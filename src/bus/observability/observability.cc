#include "bus/observability/observability.h"

#include <algorithm>

#include "base/strings.h"
#include "bus/observability/limits.h"
#include "bus/observability/otlp.h"
#include "obs/log.h"
#include "runtime/asio_loop.h"

namespace chela::bus::observability {
namespace {

constexpr std::int64_t kNanosPerMs = 1'000'000;
constexpr std::string_view kWorkerMetric = "iii.worker.";

struct Parent {
  std::string_view trace_id;
  std::string_view span_id;
  bool sampled = false;
};

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The last bit of a hex digit's value.
bool is_odd(char digit) { return (digit <= '9' ? digit - '0' : digit - 'a' + 10) % 2 == 1; }

// "00-<32 hex>-<16 hex>-<2 hex>", W3C's; nothing when it is no such text.
std::optional<Parent> parent_in(std::string_view text) {
  if (text.size() < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const Parent parent{text.substr(3, 32), text.substr(36, 16), is_odd(text[54])};
  if (!is_hex(parent.trace_id) || !is_hex(parent.span_id) || !is_hex(text.substr(53, 2))) return std::nullopt;
  return parent;
}

Result<std::unique_ptr<Module>> make(ModuleParts& parts, const json::Value& config) {
  Result<Options> options = read_options(config);
  if (!options) return fail(options.error());
  return std::make_unique<Observability>(
      Observability::Parts{.loop = parts.loop, .bus = parts.bus, .ids = parts.ids, .http = parts.http},
      std::move(*options));
}

int least_severity(std::string_view level) {
  if (level == "debug") return 5;
  if (level == "info") return 9;
  if (level == "warn") return 13;
  return level == "error" ? 17 : 0;
}

}  // namespace

Observability::Observability(Parts parts, Options options)
    : loop_(parts.loop),
      bus_(parts.bus),
      ids_(parts.ids),
      options_(std::move(options)),
      spans_(options_.max_spans, kMaxStoredBytes, std::chrono::hours(24)),
      logs_(options_.max_logs, kMaxStoredBytes, options_.logs_retention),
      points_(options_.max_points, kMaxStoredBytes, options_.points_retention),
      sampler_(options_.sampling),
      log_sampler_({.ratio = options_.logs_sampling_ratio}),
      trace_triggers_(parts.bus, parts.loop),
      alerts_({.loop = parts.loop,
               .bus = parts.bus,
               .http = parts.http,
               .value = [this](std::string_view metric) { return value_of(metric); }},
              options_.alerts) {}

Observability::~Observability() {
  if (tell_timer_) loop_.cancel(*tell_timer_);
}

Task<Result<>> Observability::start() {
  if (options_.level || options_.format)
    log::set_terminal(options_.level.value_or(log::Level::kInfo),
                      options_.format.value_or(log::TerminalForm::kPeople));
  for (const std::string& each : options_.without_effect)
    log::warn("bus", "a key of the configuration has no effect",
              {{"module", "observability"}, {"key", each}});
  if (Result<> added = add_functions(); !added) co_return added;
  Result<> added = bus_.add_trigger_type(
      {.id = "log",
       .description = "somebody wrote a log of at least this level",
       .trigger_format =
           R"({"type":"object","properties":{"level":{"enum":["all","debug","info","warn","error"]}}})"},
      *this);
  if (added) added = trace_triggers_.add_type();
  if (!added) co_return added;
  bus_.set_observer(*this);
  alerts_.start();
  co_return Result<>{};
}

Task<> Observability::stop() {
  stopped_ = true;
  // The next configuration may say nothing of it.
  if (options_.level || options_.format) log::set_terminal(log::Level::kInfo, log::TerminalForm::kPeople);
  if (tell_timer_) loop_.cancel(*tell_timer_);
  tell_timer_.reset();
  listeners_.clear();
  trace_triggers_.stop();
  co_await alerts_.stop();
}

json::Value Observability::status() const {
  return json::Value::object({{"spans", spans_.size()},
                              {"logs", logs_.size()},
                              {"points", points_.size()},
                              {"open_calls", open_.size()},
                              {"measured_workers", latest_.size()},
                              {"listeners", listeners_.size()}});
}

// --- the trigger

Result<> Observability::bind(BoundTriggerPtr trigger) {
  const std::string level = trigger->config.string_or("level", "all");
  if (level != "all" && least_severity(level) == 0)
    return fail(Code::kInvalidArgument, "the level '{}' is none of all, debug, info, warn and error", level);
  listeners_.push_back(std::move(trigger));
  return {};
}

void Observability::release(const BoundTrigger& trigger) {
  std::erase_if(listeners_, [&trigger](const BoundTriggerPtr& each) { return each->key == trigger.key; });
}

void Observability::keep_span(const std::string& tenant, json::Value span) {
  trace_triggers_.ended(tenant, span);
  spans_.add(tenant, std::move(span), now());
}

bool Observability::keep_log(const std::string& tenant, json::Value log) {
  if (!log_sampler_.begins({}, {}, loop_.clock().steady())) return true;
  const bool told = !listeners_.empty() && !stopped_;
  json::Value copy = told ? log : json::Value();
  if (!logs_.add(tenant, std::move(log), now())) return false;
  if (told) {
    if (untold_.size() >= kMaxLogsToTell) {
      ++untellable_;
    } else {
      untold_.emplace_back(tenant, std::move(copy));
    }
    if (!tell_timer_) {
      tell_timer_ = loop_.call_at(loop_.clock().steady() + kTellDelay, [this] {
        tell_timer_.reset();
        tell_logs();
      });
    }
  }
  return true;
}

void Observability::tell_logs() {
  const std::vector<BoundTriggerPtr> listeners = listeners_;  // copies: what is called may change them
  for (const auto& [tenant, log] : std::exchange(untold_, {})) {
    const Payload payload(log);
    const std::int64_t severity = log.int_or("severity_number", 0);
    for (const BoundTriggerPtr& each : listeners) {
      const bool may = each->tenant == tenant || each->rights.principal.allows("admin");
      if (may && severity >= least_severity(each->config.string_or("level", "all"))) bus_.fire(each, payload);
    }
  }
  if (const std::uint64_t lost = std::exchange(untellable_, 0); lost > 0)
    log::warn("bus", "logs were not told to triggers: too many at once", {{"lost", lost}});
}

// --- calls

Observer::Watch Observability::began(const Call& call) {
  if (call.function_id.starts_with("engine::") || open_.size() >= kMaxOpenSpans || stopped_) return {};
  Open open{.function_id = std::string(call.function_id),
            .tenant = std::string(call.tenant),
            .kind = call.kind,
            .started = now(),
            .since = loop_.clock().steady()};
  const std::optional<Parent> parent = parent_in(call.traceparent);
  Watch watch{.id = ++last_open_};
  if (samples(call, parent ? std::optional(parent->sampled) : std::nullopt)) {
    open.trace_id = parent ? std::string(parent->trace_id)
                           : fmt::format("{:016x}{:016x}", ids_.random() | 1, ids_.random());
    open.parent_span_id = parent ? std::string(parent->span_id) : "";
    open.span_id = fmt::format("{:016x}", ids_.random() | 1);
    watch.traceparent = fmt::format("00-{}-{}-01", open.trace_id, open.span_id);
    if (!parent) trace_triggers_.began(open.tenant, open.trace_id, open.function_id);
  }
  open_.emplace(watch.id, std::move(open));
  return watch;
}

void Observability::ended(std::uint64_t id, std::string_view code, std::string_view message) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  const Open open = std::move(found->second);
  open_.erase(found);
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(loop_.clock().steady() - open.since);
  if (options_.metrics) {
    counts_.call(open.tenant, open.function_id,
                 code.empty() ? Counts::Outcome::kSuccess : Counts::Outcome::kError,
                 static_cast<double>(took.count()) / kNanosPerMs);
    rollups_.add(open.tenant, "iii.invocation.duration", std::chrono::duration<double>(took).count(), now());
    if (!code.empty()) rollups_.add(open.tenant, "iii.invocation.errors.total", 1, now());
  }
  if (!open.trace_id.empty()) keep_span(open.tenant, span_of(open, took, code, message));
}

// A call that has ended after `took`, or one that is still under way.
json::Value Observability::span_of(const Open& open, std::optional<std::chrono::nanoseconds> took,
                                   std::string_view code, std::string_view message) const {
  json::Value attributes = json::Value::array();
  const auto add = [&attributes](std::string_view key, std::string_view value) {
    attributes.push_back(json::Value::array({json::Value(key), json::Value(value)}));
  };
  add("function_id", open.function_id);
  add("faas.invoked_name", open.function_id);
  add("iii.function.kind", open.kind == Kind::kEngine ? "internal" : "user");
  if (!code.empty()) {
    add("error.type", code);
    add("error.message", message.substr(0, 1024));
  }
  if (!options_.service_version.empty()) add("service.version", options_.service_version);
  if (!options_.service_namespace.empty()) add("service.namespace", options_.service_namespace);
  const std::int64_t begin = open.started * kNanosPerMs;
  json::Value span = json::Value::object({{"trace_id", open.trace_id}, {"span_id", open.span_id}});
  span.set("parent_span_id", open.parent_span_id.empty() ? json::Value() : json::Value(open.parent_span_id));
  span.set("name", "call " + open.function_id);
  span.set("start_time_unix_nano", begin);
  span.set("end_time_unix_nano", took ? begin + took->count() : 0);
  span.set("status", !took ? "pending" : code.empty() ? "ok" : "error");
  if (!code.empty()) span.set("status_description", message.substr(0, 1024));
  span.set("attributes", std::move(attributes));
  span.set("service_name", options_.service_name);
  span.set("events", json::Value::array());
  span.set("links", json::Value::array());
  return span;
}

void Observability::each_span(const Viewer& viewer, std::deque<json::Value>& made,
                              const std::function<void(const json::Value&)>& visit) {
  spans_.each(viewer, now(), visit);
  if (!options_.live_spans) return;
  for (const auto& [id, open] : open_) {
    if (!open.trace_id.empty() && (viewer.sees_all || open.tenant == viewer.tenant))
      visit(made.emplace_back(span_of(open, std::nullopt, {}, {})));
  }
}

bool Observability::samples(const Call& call, const std::optional<bool>& parent_samples) {
  if (!options_.traces) return false;
  if (parent_samples && sampler_.follows_parent()) return *parent_samples;
  return sampler_.begins(call.function_id, options_.service_name, loop_.clock().steady());
}

void Observability::connected(const Worker& worker) { counts_.worker_came(worker.view.tenant); }

void Observability::gone(const Worker& worker) {
  counts_.worker_went(worker.view.tenant);
  latest_.erase(worker.view.tenant + '\n' + worker.id);
  latest_.erase(worker.view.tenant + '\n' + worker.info.name);
}

// --- what SDKs measure

void Observability::measured(std::string_view tenant, std::string_view frame) {
  if (stopped_) return;
  Result<Measured> read = read_frame(frame);
  if (!read) {
    log::debug("bus", "measurements could not be read", {{"error", read.error().message}});
    return;
  }
  if (options_.traces) {
    for (json::Value& each : read->spans) {
      // The start of a span, told by SDKs that show what is under way: here only the engine's own calls are.
      if (each.int_or("end_time_unix_nano", 0) == 0) continue;
      keep_span(std::string(tenant), std::move(each));
    }
  }
  if (options_.logs) {
    for (json::Value& each : read->logs) keep_log(std::string(tenant), std::move(each));
  }
  if (!options_.metrics) return;
  for (json::Value& each : read->points) {
    const std::string name = each.string_or("name");
    const json::Value* about = each.find("attributes");
    if (about != nullptr && name.starts_with(kWorkerMetric)) {
      const auto note = [&](std::string_view key) {
        const std::string who = about->string_or(key);
        if (who.empty() || who.size() > kMaxIdBytes) return;
        // Only for workers that are there: what goes with them is bounded by them.
        const bool there = std::ranges::any_of(bus_.workers(), [&](const auto& worker) {
          return worker.second->view.tenant == tenant &&
                 (worker.first == who || worker.second->info.name == who);
        });
        if (!there) return;
        json::Value& latest = latest_[std::string(tenant) + '\n' + who];
        if (latest.is_null()) latest = json::Value::object();
        const std::string metric = name.substr(kWorkerMetric.size());
        if (latest.as_object()->size() < kMaxLatest || latest.find(metric) != nullptr)
          latest.set(metric, *each.find("value"));
      };
      note("worker.id");
      note("worker.name");
    }
    if (const json::Value* value = each.find("value"); value != nullptr && value->as_double())
      rollups_.add(tenant, name, *value->as_double(), now());
    points_.add(tenant, std::move(each), now());
  }
}

json::Value Observability::latest_metrics(const Worker& worker) const {
  for (const std::string& who : {worker.id, worker.info.name}) {
    if (const auto found = latest_.find(worker.view.tenant + '\n' + who); found != latest_.end())
      return found->second;
  }
  return {};
}

size_t Observability::active_workers(const Viewer& viewer) const {
  return static_cast<size_t>(std::ranges::count_if(bus_.workers(), [&viewer](const auto& each) {
    return each.second->announced && (viewer.sees_all || each.second->view.tenant == viewer.tenant);
  }));
}

// For alerts, which are about all users.
double Observability::value_of(std::string_view metric) {
  const Viewer all{.tenant = "", .sees_all = true};
  const Counts::Tally tally = counts_.seen_by(all);
  if (metric == "iii.invocations.total") return static_cast<double>(tally.total);
  if (metric == "iii.invocations.success") return static_cast<double>(tally.success);
  if (metric == "iii.invocations.error") return static_cast<double>(tally.error);
  if (metric == "iii.workers.active") return static_cast<double>(active_workers(all));
  if (metric == "iii.workers.spawns") return static_cast<double>(tally.spawns);
  if (metric == "iii.workers.deaths") return static_cast<double>(tally.deaths);
  double latest = 0;
  points_.each(all, now(), [&](const json::Value& point) {
    if (point.string_or("name") == metric) latest = point.double_or("value", latest);
  });
  return latest;
}

ModuleKind kind() {
  return {.names = {"modules::observability::OtelModule", "iii-observability"},
          .make = make,
          .when = ModuleKind::When::kNamed};
}

}  // namespace chela::bus::observability
