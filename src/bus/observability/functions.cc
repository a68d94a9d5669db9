#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "base/strings.h"
#include "base/utf8.h"
#include "bus/baggage.h"
#include "bus/observability/limits.h"
#include "bus/observability/observability.h"
#include "net/http.h"
#include "obs/log.h"

namespace chela::bus::observability {
namespace {

using json::Value;

constexpr std::int64_t kNanosPerMs = 1'000'000;

Viewer viewer_in(const LocalCall& call) { return viewer_of(call.context.principal); }

std::string_view severity_name(int severity) {
  if (severity >= 17) return "ERROR";
  if (severity >= 13) return "WARN";
  if (severity >= 9) return "INFO";
  return severity >= 5 ? "DEBUG" : "TRACE";
}

log::Level level_of(int severity) {
  if (severity >= 17) return log::Level::kError;
  if (severity >= 13) return log::Level::kWarn;
  if (severity >= 9) return log::Level::kInfo;
  return severity >= 5 ? log::Level::kDebug : log::Level::kTrace;
}

// Every row is compared with all that is asked for, on the loop: more than a person asks for is refused.
Result<> is_modest(const Value& query) {
  const Value* wanted = query.find("attributes");
  if (wanted != nullptr && wanted->as_array() != nullptr && wanted->as_array()->size() > kMaxWantedAttributes)
    return fail(Code::kTooLarge, "a query names at most {} attributes, not {}", kMaxWantedAttributes,
                wanted->as_array()->size());
  for (const std::string_view key :
       {"trace_id", "span_id", "severity_text", "service_name", "status", "name", "metric_name", "attribute",
        "label_attribute", "sort_by", "sort_order"}) {
    const Value* given = query.find(key);
    if (given != nullptr && given->as_string() != nullptr && given->as_string()->size() > kMaxWantedBytes)
      return fail(Code::kTooLarge, "{} has at most {} bytes", key, kMaxWantedBytes);
  }
  return {};
}

bool wants(const Value& query, std::string_view key, const Value& row, std::string_view field) {
  const std::string wanted = query.string_or(key);
  return wanted.empty() || strings::iequals(wanted, row.string_or(field));
}

// start_time and end_time are in milliseconds.
bool in_time(const Value& query, std::int64_t at_nanos) {
  const std::int64_t at = at_nanos / kNanosPerMs;
  const Value* from = query.find("start_time");
  const Value* to = query.find("end_time");
  return (from == nullptr || !from->as_int() || at >= *from->as_int()) &&
         (to == nullptr || !to->as_int() || at <= *to->as_int());
}

// None of a call under way.
double duration_ms(const Value& span) {
  if (span.int_or("end_time_unix_nano", 0) == 0) return 0;
  return static_cast<double>(span.int_or("end_time_unix_nano", 0) - span.int_or("start_time_unix_nano", 0)) /
         kNanosPerMs;
}

// The value of an attribute as text.
std::optional<std::string> attribute_of(const Value& span, std::string_view key) {
  const Value* own = span.find("attributes");
  if (own == nullptr || own->as_array() == nullptr) return std::nullopt;
  for (const Value& pair : *own->as_array()) {
    const auto* both = pair.as_array();
    if (both == nullptr || both->size() != 2) continue;
    const std::string* name = (*both)[0].as_string();
    if (name == nullptr || *name != key) continue;
    return (*both)[1].as_string() != nullptr ? *(*both)[1].as_string() : json::write((*both)[1]);
  }
  return std::nullopt;
}

bool has_attributes(const Value& span, const Value& query) {
  const Value* wanted = query.find("attributes");
  if (wanted == nullptr || wanted->as_array() == nullptr) return true;
  const Value* own = span.find("attributes");
  return std::ranges::all_of(*wanted->as_array(), [own](const Value& pair) {
    return own != nullptr && own->as_array() != nullptr &&
           std::ranges::find(*own->as_array(), pair) != own->as_array()->end();
  });
}

bool matches(const Value& span, const Value& query) {
  const double took = duration_ms(span);
  return wants(query, "trace_id", span, "trace_id") && wants(query, "service_name", span, "service_name") &&
         wants(query, "status", span, "status") &&
         (query.string_or("name").empty() ||
          span.string_or("name").find(query.string_or("name")) != std::string::npos) &&
         took >= query.double_or("min_duration_ms", took) &&
         took <= query.double_or("max_duration_ms", took) &&
         in_time(query, span.int_or("start_time_unix_nano", 0)) && has_attributes(span, query);
}

struct Page {
  size_t offset;
  size_t limit;
};
Page page_of(const Value& query, size_t usual) {
  const auto part = [&query](std::string_view key, size_t otherwise) {
    const std::int64_t given = query.int_or(key, static_cast<std::int64_t>(otherwise));
    return given < 0 ? 0 : static_cast<size_t>(given);
  };
  return {.offset = part("offset", 0), .limit = std::min(part("limit", usual), kMaxListed)};
}

// Rows where they are kept: they are large and many, and few of them are shown.
using Rows = std::vector<const Value*>;

Value page(const Rows& rows, Page wanted) {
  Value out = Value::array();
  for (size_t i = wanted.offset; i < rows.size() && i - wanted.offset < wanted.limit; ++i)
    out.push_back(*rows[i]);
  return out;
}

// Rows by a key, equal ones as they were.
template <class Key>
Rows sorted(const Rows& rows, const Key& key) {
  std::vector<std::pair<decltype(key(*rows.front())), size_t>> places;
  places.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) places.emplace_back(key(*rows[i]), i);
  std::ranges::sort(places);
  Rows out;
  out.reserve(rows.size());
  for (const auto& [by, at] : places) out.push_back(rows[at]);
  return out;
}

Value rollup_row(const std::string& name, const Rollup& rollup, UnixMs span) {
  return Value::object({{"metric_name", name},
                        {"start_time", rollup.start},
                        {"end_time", rollup.start + span},
                        {"count", rollup.count},
                        {"sum", rollup.sum},
                        {"avg", rollup.sum / static_cast<double>(rollup.count)},
                        {"min", rollup.min},
                        {"max", rollup.max},
                        {"last", rollup.last}});
}

using Answer = Result<Value> (*)(Observability&, const LocalCall&);

Task<Result<Value>> run(Observability& module, Answer answer, LocalCall call) {
  co_return answer(module, call);
}

template <int severity>
Result<Value> write_log(Observability& module, const LocalCall& call) {
  return module.add_log(call, severity);
}

Result<Value> clear_logs(Observability& module, const LocalCall& call) {
  module.logs().clear(viewer_in(call));
  return Value::object({{"success", true}});
}

Result<Value> clear_spans(Observability& module, const LocalCall& call) {
  module.spans().clear(viewer_in(call));
  return Value::object({{"success", true}});
}

// Alerts are about all users, so they are shown to those who may see all.
Result<> for_administrators(const LocalCall& call) {
  if (viewer_in(call).sees_all) return {};
  return fail(Code::kPermissionDenied, "alerts are about all users; this needs the permission admin");
}

Result<Value> list_alerts(Observability& module, const LocalCall& call) {
  if (Result<> may = for_administrators(call); !may) return fail(may.error());
  return module.alerts().list();
}

Result<Value> evaluate_alerts(Observability& module, const LocalCall& call) {
  if (Result<> may = for_administrators(call); !may) return fail(may.error());
  Value names = Value::array();
  for (std::string& each : module.alerts().evaluate()) names.push_back(std::move(each));
  return Value::object({{"evaluated", module.alerts().size()},
                        {"triggered_alerts", std::move(names)},
                        {"timestamp", module.alerts().list().int_or("timestamp", 0)}});
}

std::vector<std::pair<std::string, std::string>> baggage_of(const LocalCall& call) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string_view item : strings::split(call.baggage, ',')) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view value = item.substr(equals + 1);
    out.emplace_back(strings::trim(item.substr(0, equals)),
                     net::percent_decode(strings::trim(value.substr(0, value.find(';')))).value_or(""));
  }
  return out;
}

Result<Value> get_baggage(Observability&, const LocalCall& call) {
  Value value;
  for (const auto& [key, text] : baggage_of(call)) {
    if (key == call.data.string_or("key")) value = text;
  }
  return Value::object({{"value", std::move(value)}});
}

Result<Value> get_all_baggage(Observability&, const LocalCall& call) {
  Value all = Value::object();
  for (const auto& [key, text] : baggage_of(call)) all.set(key, text);
  return Value::object({{"baggage", std::move(all)}});
}

// A call's baggage is its caller's: what is set is given back for the calls that the caller makes next.
Result<Value> set_baggage(Observability&, const LocalCall& call) {
  const std::string key = call.data.string_or("key");
  if (key.empty() || key.find_first_of("=,; \t") != std::string::npos || key.starts_with("chela."))
    return fail(Code::kInvalidArgument, "'{}' is no key for baggage", key);
  std::string text;
  for (const auto& [name, value] : baggage_of(call)) {
    if (name != key)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, net::percent_encode(value));
  }
  text +=
      fmt::format("{}{}={}", text.empty() ? "" : ",", key, net::percent_encode(call.data.string_or("value")));
  if (text.size() > kMaxTraceBytes)
    return fail(Code::kTooLarge, "baggage has at most {} bytes", kMaxTraceBytes);
  return Value::object({{"success", true}, {"baggage", std::move(text)}});
}

}  // namespace

Result<Value> Observability::add_log(const LocalCall& call, int severity) {
  const Value* message = call.data.find("message");
  if (message == nullptr) return fail(Code::kInvalidArgument, "a log needs a message");
  const std::string text = message->as_string() != nullptr ? *message->as_string() : json::write(*message);
  const std::string service = call.data.string_or("service_name", call.caller ? call.caller->info.name : "");
  if (options_.console)
    log::write(level_of(severity), "worker", utf8::prefix(text, kMaxItemBytes), {{"service", service}});
  if (!options_.logs) return Value();
  const std::int64_t at = now() * kNanosPerMs;
  Value attributes = Value::object();
  if (const Value* data = call.data.find("data"); data != nullptr && !data->is_null())
    attributes = data->is_object() ? *data : Value::object({{"data", *data}});
  if (Result<> fits = json::write(attributes).size() + text.size() > kMaxItemBytes - 1024
                          ? fail(Code::kTooLarge, "a log has at most {} bytes", kMaxItemBytes - 1024)
                          : Result<>();
      !fits)
    return fail(fits.error());
  // Where the caller says nothing of its own, the call's trace is the log's.
  const bool traced = call.traceparent.size() >= 55;
  const bool kept = keep_log(
      viewer_in(call).tenant,
      Value::object(
          {{"timestamp_unix_nano", at},
           {"observed_timestamp_unix_nano", at},
           {"severity_number", severity},
           {"severity_text", severity_name(severity)},
           {"body", text},
           {"attributes", std::move(attributes)},
           {"trace_id", call.data.string_or("trace_id", traced ? call.traceparent.substr(3, 32) : "")},
           {"span_id", call.data.string_or("span_id", traced ? call.traceparent.substr(36, 16) : "")},
           {"resource", Value::object()},
           {"service_name", service}}));
  if (!kept)
    return fail(Code::kTooLarge, "a log with its ids and its service has at most {} bytes", kMaxItemBytes);
  return Value();
}

Result<Value> Observability::list_logs(const Viewer& viewer, const Value& query) {
  if (Result<> modest = is_modest(query); !modest) return fail(modest.error());
  Rows rows;
  logs_.each(viewer, now(), [&](const Value& row) {
    if (wants(query, "trace_id", row, "trace_id") && wants(query, "span_id", row, "span_id") &&
        wants(query, "severity_text", row, "severity_text") &&
        row.int_or("severity_number", 0) >= query.int_or("severity_min", 0) &&
        in_time(query, row.int_or("timestamp_unix_nano", 0)))
      rows.push_back(&row);
  });
  rows = sorted(rows, [](const Value& row) { return row.int_or("timestamp_unix_nano", 0); });
  return Value::object({{"logs", page(rows, page_of(query, kMaxListed))},
                        {"total", rows.size()},
                        {"query", query},
                        {"timestamp", now()}});
}

Result<Value> Observability::list_spans(const Viewer& viewer, const Value& query) {
  if (Result<> modest = is_modest(query); !modest) return fail(modest.error());
  std::deque<Value> open;
  Rows rows;
  each_span(viewer, open, [&](const Value& row) {
    if (matches(row, query)) rows.push_back(&row);
  });
  const std::string by = query.string_or("sort_by", "start_time");
  const auto key = [&by](const Value& row) {
    return by == "duration" ? duration_ms(row) : static_cast<double>(row.int_or("start_time_unix_nano", 0));
  };
  rows =
      by == "name" ? sorted(rows, [](const Value& row) { return row.string_or("name"); }) : sorted(rows, key);
  if (query.string_or("sort_order") == "desc") std::ranges::reverse(rows);
  const Page wanted = page_of(query, 100);
  return Value::object({{"spans", page(rows, wanted)},
                        {"total", rows.size()},
                        {"offset", wanted.offset},
                        {"limit", wanted.limit}});
}

// The traces whose spans have one value of an attribute, those that began last first.
Result<Value> Observability::group_spans(const Viewer& viewer, const Value& query) {
  const std::string attribute = query.string_or("attribute");
  if (attribute.empty()) return fail(Code::kInvalidArgument, "attribute is missing");
  if (Result<> modest = is_modest(query); !modest) return fail(modest.error());
  const std::string label = query.string_or("label_attribute");
  const std::int64_t since = query.int_or("since_ms", 0);
  struct Group {
    std::set<std::string> traces;
    std::string label;
    std::int64_t labelled = -1;  // when the span began that the label is from
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = 0;
    std::int64_t spans = 0;
    std::int64_t errors = 0;
  };
  std::map<std::string, Group> groups;
  std::deque<Value> open;
  each_span(viewer, open, [&](const Value& row) {
    const std::optional<std::string> value = attribute_of(row, attribute);
    const std::int64_t begin = row.int_or("start_time_unix_nano", 0) / kNanosPerMs;
    const std::int64_t end = std::max(begin, row.int_or("end_time_unix_nano", 0) / kNanosPerMs);
    if (!value || end < since) return;
    Group& group = groups[*value];
    group.traces.insert(row.string_or("trace_id"));
    group.first = std::min(group.first, begin);
    group.last = std::max(group.last, end);
    ++group.spans;
    if (row.string_or("status") == "error") ++group.errors;
    const std::optional<std::string> named = label.empty() ? std::nullopt : attribute_of(row, label);
    if (named && begin >= group.labelled) {
      group.label = *named;
      group.labelled = begin;
    }
  });
  std::vector<Value> made;
  for (const auto& [value, group] : groups) {
    Value traces = Value::array();
    for (const std::string& each : group.traces) traces.push_back(each);
    Value row = Value::object({{"value", value}, {"trace_ids", std::move(traces)}});
    if (group.labelled >= 0) row.set("label", group.label);
    row.set("span_count", group.spans);
    row.set("first_seen_ms", group.first);
    row.set("last_seen_ms", group.last);
    row.set("duration_ms", group.last - group.first);
    row.set("error_count", group.errors);
    made.push_back(std::move(row));
  }
  Rows rows;
  for (const Value& row : made) rows.push_back(&row);
  rows = sorted(rows, [](const Value& row) { return -row.int_or("first_seen_ms", 0); });
  const size_t limit = page_of(query, 100).limit;
  return Value::object({{"groups", page(rows, {.offset = 0, .limit = limit})}});
}

// A span whose parent is not here is a root; so is one of a cycle, which only a wrong SDK makes.
Result<Value> Observability::span_tree(const Viewer& viewer, const Value& query) {
  const std::string trace = query.string_or("trace_id");
  if (trace.empty()) return fail(Code::kInvalidArgument, "trace_id is missing");
  if (Result<> modest = is_modest(query); !modest) return fail(modest.error());
  std::map<std::string, Value> spans;
  std::map<std::string, std::vector<std::string>> children;
  std::deque<Value> open;
  each_span(viewer, open, [&](const Value& row) {
    if (row.string_or("trace_id") == trace && spans.size() < kMaxListed)
      spans.emplace(row.string_or("span_id"), row);
  });
  std::vector<std::string> roots;
  for (const auto& [id, span] : spans) {
    const std::string parent = span.string_or("parent_span_id");
    if (spans.contains(parent) && parent != id) {
      children[parent].push_back(id);
    } else {
      roots.push_back(id);
    }
  }
  const int deepest = static_cast<int>(kMaxJsonDepth) / 2 - 4;
  const std::function<Value(const std::string&, int)> grow = [&](const std::string& id, int depth) {
    Value out = spans.at(id);
    Value below = Value::array();
    if (depth < deepest) {
      for (const std::string& child : children[id]) below.push_back(grow(child, depth + 1));
    }
    out.set("children", std::move(below));
    return out;
  };
  Value out = Value::array();
  for (const std::string& root : roots) out.push_back(grow(root, 0));
  return Value::object({{"roots", std::move(out)}});
}

// What was measured in each interval of so many seconds, by name.
Result<Value> aggregated(const Rows& rows, std::int64_t seconds) {
  std::map<std::pair<std::string, UnixMs>, Rollup> all;
  for (const Value* row : rows) {
    const Value* value = row->find("value");
    if (value == nullptr || !value->as_double()) continue;
    const UnixMs at = row->int_or("timestamp_unix_nano", 0) / kNanosPerMs;
    const UnixMs start = at - at % (seconds * 1000);
    Rollup& rollup = all[{row->string_or("name"), start}];
    rollup.start = start;
    rollup.add(*value->as_double());
    if (all.size() > kMaxAggregates)
      return fail(Code::kTooLarge, "more than {} intervals; ask for longer ones or less time",
                  kMaxAggregates);
  }
  Value out = Value::array();
  for (const auto& [key, rollup] : all) out.push_back(rollup_row(key.first, rollup, seconds * 1000));
  return out;
}

Result<Value> Observability::list_rollups(const Viewer& viewer, const Value& query) const {
  const std::int64_t level = query.int_or("level", 0);
  if (level < 0 || level >= static_cast<std::int64_t>(Rollups::kLevels))
    return fail(Code::kInvalidArgument, "the level is 0 (a minute), 1 (five minutes) or 2 (an hour), not {}",
                level);
  const std::string wanted = query.string_or("metric_name");
  const UnixMs span = Rollups::kSpans[static_cast<size_t>(level)];
  Value rows = Value::array();
  rollups_.each(viewer, static_cast<size_t>(level), [&](const std::string& name, const Rollup& rollup) {
    const bool fits = wanted.empty() || wanted == name;
    if (fits && in_time(query, rollup.start * kNanosPerMs) && rows.as_array()->size() < kMaxListed)
      rows.push_back(rollup_row(name, rollup, span));
  });
  return Value::object(
      {{"rollups", std::move(rows)}, {"level", level}, {"query", query}, {"timestamp", now()}});
}

Result<Value> Observability::list_metrics(const Viewer& viewer, const Value& query) {
  if (Result<> modest = is_modest(query); !modest) return fail(modest.error());
  Rows rows;
  points_.each(viewer, now(), [&](const Value& row) {
    if (wants(query, "metric_name", row, "name") && in_time(query, row.int_or("timestamp_unix_nano", 0)))
      rows.push_back(&row);
  });
  Value out =
      Value::object({{"engine_metrics", Counts::row(counts_.seen_by(viewer), active_workers(viewer))}});
  const std::int64_t interval = query.int_or("aggregate_interval", 0);
  if (interval < 0 || interval > 86'400)
    return fail(Code::kInvalidArgument, "aggregate_interval is 1 to 86400 seconds, not {}", interval);
  if (interval > 0) {
    Result<Value> all = aggregated(rows, interval);
    if (!all) return fail(all.error());
    out.set("aggregated_metrics", std::move(*all));
  }
  const size_t older = rows.size() > kMaxListed ? rows.size() - kMaxListed : 0;
  out.set("sdk_metrics", page(rows, {.offset = older, .limit = kMaxListed}));
  out.set("timestamp", now());
  out.set("query", query);
  return out;
}

Value Observability::health() const {
  const auto state = [](bool on) { return on ? "healthy" : "disabled"; };
  return Value::object({{"status", "healthy"},
                        {"components", Value::object({{"otel", state(options_.traces)},
                                                      {"metrics", state(options_.metrics)},
                                                      {"logs", state(options_.logs)},
                                                      {"spans", state(options_.traces)}})},
                        {"timestamp", now()}});
}

Result<> Observability::add_functions() {
  struct Row {
    std::string_view id;
    std::string_view description;
    Answer answer;
  };
  static constexpr Row kRows[] = {
      {"engine::log::trace", "writes a log", write_log<1>},
      {"engine::log::debug", "writes a log", write_log<5>},
      {"engine::log::info", "writes a log", write_log<9>},
      {"engine::log::warn", "writes a log", write_log<13>},
      {"engine::log::error", "writes a log", write_log<17>},
      {"engine::logs::list", "logs, oldest first",
       [](Observability& m, const LocalCall& c) { return m.list_logs(viewer_in(c), c.data); }},
      {"engine::logs::clear", "forgets the logs", clear_logs},
      {"engine::traces::list", "spans of calls and of SDKs",
       [](Observability& m, const LocalCall& c) { return m.list_spans(viewer_in(c), c.data); }},
      {"engine::traces::tree", "the spans of one trace as a tree",
       [](Observability& m, const LocalCall& c) { return m.span_tree(viewer_in(c), c.data); }},
      {"engine::traces::group_by", "traces by the value of an attribute of their spans",
       [](Observability& m, const LocalCall& c) { return m.group_spans(viewer_in(c), c.data); }},
      {"engine::traces::clear", "forgets the spans", clear_spans},
      {"engine::metrics::list", "how often functions were called, and what SDKs measured",
       [](Observability& m, const LocalCall& c) { return m.list_metrics(viewer_in(c), c.data); }},
      {"engine::rollups::list", "measures by the minute, by five minutes or by the hour",
       [](Observability& m, const LocalCall& c) { return m.list_rollups(viewer_in(c), c.data); }},
      {"engine::sampling::rules", "which traces are kept",
       [](Observability& m, const LocalCall&) { return Result<Value>(m.sampling_rules()); }},
      {"engine::health::check", "what is watched",
       [](Observability& m, const LocalCall&) { return Result<Value>(m.health()); }},
      {"engine::alerts::list", "the alerts and how they stand", list_alerts},
      {"engine::alerts::evaluate", "looks at all alerts now", evaluate_alerts},
      {"engine::baggage::get", "one value of the call's baggage", get_baggage},
      {"engine::baggage::set", "the call's baggage with one value more", set_baggage},
      {"engine::baggage::get_all", "the call's baggage", get_all_baggage},
  };
  for (const Row& row : kRows) {
    Result<> added =
        bus_.add({.spec = {.id = std::string(row.id), .description = std::string(row.description)},
                  .handler = [this, answer = row.answer](LocalCall call) {
                    return run(*this, answer, std::move(call));
                  }});
    if (!added) return added;
  }
  return {};
}

}  // namespace chela::bus::observability
