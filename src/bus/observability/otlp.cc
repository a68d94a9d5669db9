#include "bus/observability/otlp.h"

#include "base/strings.h"
#include "bus/observability/limits.h"

namespace chela::bus::observability {
namespace {

using json::Value;

const json::Array& array_of(const Value& value, std::string_view key) {
  static const json::Array kNone;
  const Value* found = value.find(key);
  return found != nullptr && found->as_array() != nullptr ? *found->as_array() : kNone;
}

Value plain(const Value* any);

void put(json::Object& into, const json::Array& pairs) {
  for (const Value& each : pairs) {
    if (into.size() == kMaxAttributes) return;
    into.set(each.string_or("key"), plain(each.find("value")));
  }
}

// An OTLP value ({"stringValue": ...}) as plain JSON.
Value plain(const Value* any) {
  if (any == nullptr || !any->is_object() || any->as_object()->begin() == any->as_object()->end()) return {};
  const auto& [kind, value] = *any->as_object()->begin();
  if (kind == "intValue" && value.as_string() != nullptr) {
    if (const auto number = strings::parse_int<std::int64_t>(*value.as_string())) return *number;
  }
  if (kind == "arrayValue") {
    Value out = Value::array();
    for (const Value& each : array_of(value, "values")) out.push_back(plain(&each));
    return out;
  }
  if (kind == "kvlistValue") {
    Value out = Value::object();
    put(*out.as_object(), array_of(value, "values"));
    return out;
  }
  return value;
}

Value attributes_object(const Value& of) {
  Value out = Value::object();
  put(*out.as_object(), array_of(of, "attributes"));
  return out;
}

Value attributes_pairs(const Value& of) {
  Value out = Value::array();
  for (const Value& each : array_of(of, "attributes")) {
    if (out.as_array()->size() >= kMaxAttributes) break;
    out.push_back(Value::array({Value(each.string_or("key")), plain(each.find("value"))}));
  }
  return out;
}

// Times are texts of digits or numbers.
std::int64_t nanos(const Value& of, std::string_view key) {
  const Value* found = of.find(key);
  if (found == nullptr) return 0;
  if (found->as_string() != nullptr) return strings::parse_int<std::int64_t>(*found->as_string()).value_or(0);
  return found->as_int().value_or(0);
}

struct Origin {
  Value resource;
  std::string service;
  std::string scope;
};

template <class Take>
void each_scope(const Value& document, std::string_view resources, std::string_view scopes,
                const Take& take) {
  for (const Value& resource : array_of(document, resources)) {
    Origin origin;
    const Value* about = resource.find("resource");
    origin.resource = about != nullptr ? attributes_object(*about) : Value::object();
    origin.service = origin.resource.string_or("service.name");
    for (const Value& scope : array_of(resource, scopes)) {
      const Value* named = scope.find("scope");
      origin.scope = named != nullptr ? named->string_or("name") : "";
      take(scope, origin);
    }
  }
}

std::string status_of(const Value& span) {
  const Value* status = span.find("status");
  const Value* code = status != nullptr ? status->find("code") : nullptr;
  if (code == nullptr) return "unset";
  const std::int64_t number = code->as_int().value_or(0);
  const std::string word = code->as_string() != nullptr ? *code->as_string() : "";
  if (number == 2 || word == "STATUS_CODE_ERROR") return "error";
  return number == 1 || word == "STATUS_CODE_OK" ? "ok" : "unset";
}

Value span_row(const Value& span, const Origin& origin) {
  Value events = Value::array();
  for (const Value& each : array_of(span, "events")) {
    events.push_back(Value::object({{"name", each.string_or("name")},
                                    {"timestamp_unix_nano", nanos(each, "timeUnixNano")},
                                    {"attributes", attributes_pairs(each)}}));
  }
  Value links = Value::array();
  for (const Value& each : array_of(span, "links")) {
    links.push_back(Value::object({{"trace_id", each.string_or("traceId")},
                                   {"span_id", each.string_or("spanId")},
                                   {"attributes", attributes_pairs(each)}}));
  }
  Value out = Value::object({{"trace_id", strings::lower(span.string_or("traceId"))},
                             {"span_id", strings::lower(span.string_or("spanId"))}});
  const std::string parent = strings::lower(span.string_or("parentSpanId"));
  out.set("parent_span_id", parent.empty() ? Value() : Value(parent));
  out.set("name", span.string_or("name"));
  out.set("start_time_unix_nano", nanos(span, "startTimeUnixNano"));
  out.set("end_time_unix_nano", nanos(span, "endTimeUnixNano"));
  out.set("status", status_of(span));
  if (const Value* status = span.find("status"); status != nullptr && !status->string_or("message").empty())
    out.set("status_description", status->string_or("message"));
  out.set("attributes", attributes_pairs(span));
  out.set("service_name", origin.service);
  out.set("events", std::move(events));
  out.set("links", std::move(links));
  if (!origin.scope.empty()) out.set("instrumentation_scope_name", origin.scope);
  return out;
}

Value log_row(const Value& log, const Origin& origin) {
  return Value::object({{"timestamp_unix_nano", nanos(log, "timeUnixNano")},
                        {"observed_timestamp_unix_nano", nanos(log, "observedTimeUnixNano")},
                        {"severity_number", log.int_or("severityNumber", 9)},
                        {"severity_text", log.string_or("severityText", "INFO")},
                        {"body", plain(log.find("body"))},
                        {"attributes", attributes_object(log)},
                        {"trace_id", log.string_or("traceId")},
                        {"span_id", log.string_or("spanId")},
                        {"resource", origin.resource},
                        {"service_name", origin.service}});
}

void add_points(const Value& metric, const Origin& origin, const std::function<void(Value)>& add) {
  for (const std::string_view type : {"gauge", "sum", "histogram"}) {
    const Value* data = metric.find(type);
    if (data == nullptr) continue;
    for (const Value& point : array_of(*data, "dataPoints")) {
      Value out = Value::object({{"name", metric.string_or("name")}, {"type", type}});
      if (const std::string unit = metric.string_or("unit"); !unit.empty()) out.set("unit", unit);
      const Value* number = point.find("asDouble");
      if (type == "histogram") {
        const Value* sum = point.find("sum");
        out.set("value", sum != nullptr ? *sum : Value(0));
        out.set("count", nanos(point, "count"));
      } else {
        out.set("value", number != nullptr ? *number : Value(nanos(point, "asInt")));
      }
      out.set("attributes", attributes_object(point));
      out.set("service_name", origin.service);
      out.set("timestamp_unix_nano", nanos(point, "timeUnixNano"));
      add(std::move(out));
    }
  }
}

}  // namespace

Result<Measured> read_frame(std::string_view frame) {
  const std::string_view kind = frame.substr(0, 4);
  if (kind != "OTLP" && kind != "MTRC" && kind != "LOGS")
    return fail(Code::kInvalidArgument, "a frame of measurements begins with OTLP, MTRC or LOGS");
  const Result<Value> document = json::parse(frame.substr(4));
  if (!document) return fail(document.error());
  Measured out;
  size_t taken = 0;
  const auto into = [&](std::vector<Value>& rows, Value row) {
    if (++taken > kMaxFrameItems) {
      ++out.left_out;
    } else {
      rows.push_back(std::move(row));
    }
  };
  if (kind == "OTLP") {
    each_scope(*document, "resourceSpans", "scopeSpans", [&](const Value& scope, const Origin& origin) {
      for (const Value& each : array_of(scope, "spans")) into(out.spans, span_row(each, origin));
    });
  } else if (kind == "LOGS") {
    each_scope(*document, "resourceLogs", "scopeLogs", [&](const Value& scope, const Origin& origin) {
      for (const Value& each : array_of(scope, "logRecords")) into(out.logs, log_row(each, origin));
    });
  } else {
    each_scope(*document, "resourceMetrics", "scopeMetrics", [&](const Value& scope, const Origin& origin) {
      for (const Value& each : array_of(scope, "metrics"))
        add_points(each, origin, [&](Value point) { into(out.points, std::move(point)); });
    });
  }
  return out;
}

}  // namespace chela::bus::observability
