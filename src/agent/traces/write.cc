#include <algorithm>

#include "agent/traces/trace.h"

namespace chela::agent::traces {
namespace {

using json::Array;
using json::Object;
using json::Value;

void add(Object& out, const char* key, const std::vector<std::string>& list) {
  if (list.empty()) return;
  Array items;
  for (const std::string& each : list) items.push_back(each);
  out.set(key, std::move(items));
}

template <class T>
void add(Object& out, const char* key, const std::optional<T>& value) {
  if (value) out.set(key, *value);
}

Value headers_json(const std::vector<std::pair<std::string, std::string>>& headers) {
  Value list = Value::array();
  for (const auto& [name, value] : headers) list.push_back(Value::array({name, value}));
  return list;
}

Value exchange_json(const TraceExchange& in) {
  Object request{{"method", in.method}, {"url", in.url}, {"headers", headers_json(in.request_headers)}};
  add(request, "body", in.request_body);
  return Value::object({{"request", std::move(request)},
                        {"response", Value::object({{"status", in.status},
                                                    {"headers", headers_json(in.response_headers)},
                                                    {"body", in.response_body}})}});
}

Value documents_json(const std::vector<TraceDocument>& documents) {
  Value list = Value::array();
  for (const TraceDocument& each : documents)
    list.push_back(Value::object({{"path", each.path}, {"content", each.content}}));
  return list;
}

Value response_json(const TraceStep& step) {
  using Kind = TraceStep::Kind;
  if (step.kind == Kind::kUserInput)
    return Value::object({{"type", "user_input"}, {"content", step.content}});
  if (step.kind == Kind::kError) {
    Object error{{"type", "error"}, {"code", step.code}, {"message", step.content}};
    if (!step.reason.empty()) error.set("reason", step.reason);
    add(error, "retry_after_ms", step.retry_after_ms);
    return error;
  }
  Object answer{{"type", step.kind == Kind::kText ? "text" : "tool_calls"}};
  if (step.kind == Kind::kText || !step.content.empty()) answer.set("content", step.content);
  if (step.kind == Kind::kToolCalls) {
    Array calls;
    for (const TracedCall& each : step.calls)
      calls.push_back(Value::object({{"id", each.id}, {"name", each.name}, {"arguments", each.arguments}}));
    answer.set("tool_calls", std::move(calls));
  }
  answer.set("input_tokens", step.input_tokens);
  answer.set("output_tokens", step.output_tokens);
  if (!step.finish_reason.empty()) answer.set("finish_reason", step.finish_reason);
  return answer;
}

Value step_json(const TraceStep& step) {
  Object out;
  if (step.hint != Hint{}) {
    Object hint;
    add(hint, "last_user_message_contains", step.hint.last_user_message_contains);
    add(hint, "min_message_count", step.hint.min_message_count);
    out.set("request_hint", std::move(hint));
  }
  out.set("response", response_json(step));
  if (!step.expected_results.empty()) {
    Array results;
    for (const ExpectedResult& each : step.expected_results)
      results.push_back(
          Value::object({{"tool_call_id", each.call_id}, {"name", each.name}, {"content", each.content}}));
    out.set("expected_tool_results", std::move(results));
  }
  return out;
}

Value turn_json(const TraceTurn& turn) {
  Array steps;
  for (const TraceStep& each : turn.steps) steps.push_back(step_json(each));
  Object out{{"user_input", turn.user_input}, {"steps", std::move(steps)}};
  if (!turn.expects.empty()) out.set("expects", to_json(turn.expects));
  return out;
}

}  // namespace

Value to_json(const Expects& in) {
  Object out;
  add(out, "response_contains", in.response_contains);
  add(out, "response_not_contains", in.response_not_contains);
  add(out, "response_matches", in.response_matches);
  add(out, "tools_used", in.tools_used);
  add(out, "tools_not_used", in.tools_not_used);
  add(out, "all_tools_succeeded", in.all_tools_succeeded);
  add(out, "max_tool_calls", in.max_tool_calls);
  add(out, "min_responses", in.min_responses);
  if (!in.tool_results_contain.empty()) {
    Object results;
    for (const auto& [tool, text] : in.tool_results_contain) {
      // Several texts of one tool are a list.
      if (Value* there = results.find(tool)) {
        if (!there->is_array()) *there = Value::array({*there});
        there->push_back(text);
      } else {
        results.set(tool, text);
      }
    }
    out.set("tool_results_contain", std::move(results));
  }
  add(out, "tools_failed", in.tools_failed);
  add(out, "state", in.state);
  add(out, "error_contains", in.error_contains);
  add(out, "model_calls", in.model_calls);
  add(out, "requests_contain", in.requests_contain);
  add(out, "requests_not_contain", in.requests_not_contain);
  return out;
}

Value to_json(const Trace& trace) {
  Object out{{"model_name", trace.model_name}};
  add(out, "left_out", trace.left_out);
  if (!trace.settings.empty()) {
    Object settings;
    for (const auto& [key, value] : trace.settings) settings.set(key, value);
    out.set("settings", std::move(settings));
  }
  if (!trace.memory.empty()) out.set("memory_snapshot", documents_json(trace.memory));
  if (!trace.files.empty()) out.set("files", documents_json(trace.files));
  if (!trace.exchanges.empty()) {
    Array exchanges;
    for (const TraceExchange& each : trace.exchanges) exchanges.push_back(exchange_json(each));
    out.set("http_exchanges", std::move(exchanges));
  }
  Array turns;
  for (const TraceTurn& each : trace.turns) turns.push_back(turn_json(each));
  out.set("turns", std::move(turns));
  if (!trace.expects.empty()) out.set("expects", to_json(trace.expects));
  return out;
}

std::string write_trace(const Trace& trace) { return layout(to_json(trace)); }

void append(Trace& trace, Trace other) {
  if (trace.turns.empty()) {
    trace = std::move(other);
    return;
  }
  const auto add = [](std::vector<TraceDocument>& to, std::vector<TraceDocument>& from) {
    for (TraceDocument& each : from) {
      const auto same = [&each](const TraceDocument& there) { return there.path == each.path; };
      if (std::none_of(to.begin(), to.end(), same)) to.push_back(std::move(each));
    }
  };
  add(trace.memory, other.memory);
  add(trace.files, other.files);
  for (std::string& each : other.left_out) {
    if (std::ranges::find(trace.left_out, each) == trace.left_out.end())
      trace.left_out.push_back(std::move(each));
  }
  for (TraceExchange& each : other.exchanges) trace.exchanges.push_back(std::move(each));
  trace.turns.push_back({.user_input = "/new"});
  for (TraceTurn& each : other.turns) trace.turns.push_back(std::move(each));
}

Value masked(Value value, const Mask& mask) {
  if (const std::string* text = value.as_string()) return mask(*text);
  if (Array* array = value.as_array()) {
    for (Value& each : *array) each = masked(std::move(each), mask);
  } else if (Object* object = value.as_object()) {
    Object out;
    for (json::Member& each : *object) out.set(mask(each.key), masked(std::move(each.value), mask));
    return out;
  }
  return value;
}

}  // namespace chela::agent::traces
