#include "bus/observability/options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/strings.h"
#include "bus/config_reader.h"
#include "bus/observability/limits.h"
#include "net/egress.h"

namespace chela::bus::observability {
namespace {

constexpr std::string_view kWhere = "observability";

// Only what is kept in memory is there.
void memory_only(ConfigReader& reader, std::string_view key) {
  if (!reader.has(key)) return;
  const std::string wanted = reader.text(key);
  if (wanted != "memory")
    reader.refuse(key,
                  fmt::format("'{}' needs an OTLP exporter, which this engine has not; say memory and read "
                              "engine::traces::list, engine::logs::list and engine::metrics::list",
                              wanted));
}

Result<AlertRule> read_alert(ConfigReader& reader) {
  constexpr std::string_view kComparisons[] = {">", ">=", "<", "<=", "==", "!="};
  // What newer engines call them, in the same order.
  constexpr std::string_view kWords[] = {
      "greaterthan", "greaterthanorequal", "lessthan", "lessthanorequal", "equal", "notequal"};
  constexpr std::string_view kActions[] = {"log", "webhook", "function"};
  AlertRule rule{.name = reader.text("name"),
                 .metric = reader.text("metric"),
                 .threshold = reader.number("threshold").value_or(0),
                 .comparison = reader.text("operator", ">")};
  if (const auto word = std::ranges::find(kWords, rule.comparison); word != std::end(kWords))
    rule.comparison = kComparisons[word - std::begin(kWords)];
  if (std::ranges::find(kComparisons, rule.comparison) == std::end(kComparisons))
    reader.refuse("operator",
                  fmt::format("'{}' is none of {}", rule.comparison, fmt::join(kComparisons, ", ")));
  rule.window = std::chrono::seconds(reader.integer("window_seconds", 60, 1, kMaxAlertWindow));
  rule.cooldown = std::chrono::seconds(reader.integer("cooldown_seconds", 60, 0, 86'400));
  rule.enabled = reader.flag("enabled").value_or(true);
  ConfigReader action = reader.section("action");
  const std::string kind = action.choice("type", kActions);
  if (kind == "webhook") {
    rule.action = AlertRule::Action::kWebhook;
    rule.target = action.text("url");
    if (const auto usable = net::EgressPolicy::exact_url(rule.target); !usable)
      action.refuse("url", usable.error().message);
  } else if (kind == "function") {
    rule.action = AlertRule::Action::kFunction;
    rule.target = action.text("path");
    if (rule.target.empty()) action.refuse("path", "names no function");
  }
  if (Result<> good = action.finish(); !good) return fail(good.error());
  if (rule.name.empty()) reader.refuse("name", "is missing");
  if (rule.metric.empty()) reader.refuse("metric", "is missing");
  if (Result<> good = reader.finish(); !good) return fail(good.error());
  return rule;
}

double share(ConfigReader& reader, std::string_view key, double otherwise) {
  const double value = reader.number(key).value_or(otherwise);
  if (value < 0 || value > 1) reader.refuse(key, "is a share from 0 to 1");
  return value;
}

Result<SamplingConfig> read_sampling(ConfigReader sampling, double ratio) {
  SamplingConfig out{.ratio = share(sampling, "default", ratio)};
  if (!sampling.flag("parent_based").value_or(true)) out.parent = SamplingConfig::Parent::kIgnore;
  std::vector<ConfigReader> rules = sampling.sections("rules");
  if (rules.size() > kMaxSamplingRules)
    sampling.refuse("rules", fmt::format("has more than {} rules", kMaxSamplingRules));
  ConfigReader limit = sampling.section("rate_limit");
  out.traces_per_second = limit.number("max_traces_per_second");
  if (out.traces_per_second && *out.traces_per_second <= 0)
    limit.refuse("max_traces_per_second", "is a number above 0");
  if (Result<> good = limit.finish(); !good) return fail(good.error());
  if (Result<> good = sampling.finish(); !good) return fail(good.error());
  for (ConfigReader& each : rules) {
    SamplingRule rule{.operation = each.text("operation"), .service = each.text("service")};
    if (!each.has("rate")) each.refuse("rate", "is missing");
    rule.rate = share(each, "rate", 1);
    if (Result<> good = each.finish(); !good) return fail(good.error());
    out.rules.push_back(std::move(rule));
  }
  return out;
}

// iii's `level` and `format`, of what the engine itself says.
void read_log(ConfigReader& reader, Options& out) {
  if (reader.has("level")) {
    out.level = log::level_from_name(strings::lower(reader.text("level")));
    if (!out.level) reader.refuse("level", "is one of trace, debug, info, warn, error and off");
  }
  if (reader.has("format")) {
    constexpr std::string_view kForms[] = {"default", "json"};
    out.format =
        reader.choice("format", kForms) == "json" ? log::TerminalForm::kJson : log::TerminalForm::kPeople;
  }
}

// What newer engines do with spans on a disk, or before they are kept.
void read_storage(ConfigReader& reader) {
  ConfigReader storage = reader.section("trace_storage");
  if (storage.flag("enabled").value_or(reader.has("trace_storage")))
    reader.refuse("trace_storage",
                  "spans are kept in memory only, memory_max_spans of them; leave it out, or say "
                  "enabled: false");
  if (!reader.texts("collapse_spans").empty())
    reader.refuse("collapse_spans", "every span is kept as it came; leave it out");
}

}  // namespace

Result<Options> read_options(const json::Value& config) {
  ConfigReader reader{std::string(kWhere), config};
  Options out;
  const bool enabled = reader.flag("enabled").value_or(true);
  out.service_name = reader.text("service_name", out.service_name);
  out.service_version = reader.text("service_version");
  out.service_namespace = reader.text("service_namespace");
  for (const std::string_view key : {"exporter", "metrics_exporter", "logs_exporter"})
    memory_only(reader, key);
  // iii's own files name an endpoint beside the exporter that has no use for it.
  if (!reader.text("endpoint").empty() && reader.text("exporter") != "memory")
    reader.refuse("endpoint", "nothing is sent anywhere; leave it out, or say exporter: memory");
  out.max_spans = static_cast<size_t>(reader.integer("memory_max_spans", 1000, 1, 1'000'000));
  out.max_logs = static_cast<size_t>(reader.integer("logs_max_count", 1000, 1, 1'000'000));
  out.logs_retention = std::chrono::seconds(reader.integer("logs_retention_seconds", 3600, 1, 31'536'000));
  out.max_points = static_cast<size_t>(reader.integer("metrics_max_count", 10'000, 1, 1'000'000));
  out.points_retention =
      std::chrono::seconds(reader.integer("metrics_retention_seconds", 3600, 1, 31'536'000));
  Result<SamplingConfig> sampling =
      read_sampling(reader.section("sampling"), share(reader, "sampling_ratio", 1));
  if (!sampling) return fail(sampling.error());
  out.sampling = std::move(*sampling);
  out.logs_sampling_ratio = share(reader, "logs_sampling_ratio", 1);
  for (const auto& [key, most] :
       {std::pair("logs_batch_size", 1'000'000), std::pair("logs_flush_interval_ms", 86'400'000)}) {
    if (!reader.has(key)) continue;
    reader.integer(key, 1, 1, most);
    out.without_effect.push_back(
        fmt::format("{}: logs are exported nowhere, so nothing waits for a batch", key));
  }
  read_log(reader, out);
  read_storage(reader);
  out.live_spans = reader.flag("live_spans").value_or(true);
  out.traces = enabled;
  out.logs = reader.flag("logs_enabled").value_or(true);
  out.metrics = reader.flag("metrics_enabled").value_or(true);
  out.console = reader.flag("logs_console_output").value_or(true);
  std::vector<ConfigReader> alerts = reader.sections("alerts");
  if (alerts.size() > kMaxAlerts) reader.refuse("alerts", fmt::format("has more than {} rules", kMaxAlerts));
  if (Result<> good = reader.finish(); !good) return fail(good.error());
  for (ConfigReader& each : alerts) {
    Result<AlertRule> rule = read_alert(each);
    if (!rule) return fail(rule.error());
    out.alerts.push_back(std::move(*rule));
  }
  return out;
}

}  // namespace chela::bus::observability
