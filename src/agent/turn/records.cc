#include "agent/turn/records.h"

#include <array>

namespace chela::agent::turn {
namespace {

using json::Object;
using json::Value;

constexpr std::int64_t kVersion = 1;

constexpr std::array<std::string_view, 14> kKinds{
    "TurnStarted",  "ModelRequested", "ModelAnswered", "ToolRequested", "ToolStarted",
    "ToolFinished", "Asked",          "Answered",      "Steered",       "Compacted",
    "Interrupted",  "TurnFinished",   "TurnFailed",    "Forked"};
static_assert(kKinds.size() == std::variant_size_v<Input>);

constexpr std::array<std::string_view, 5> kEndings{"ran", "refused", "denied", "interrupted", "client"};
constexpr std::array<std::string_view, 3> kDecisions{"run", "ask", "refused"};
constexpr std::array<std::string_view, 3> kAnswers{"approve", "always", "deny"};

// An absent member reads as the default, so that fields can be added.
Value member(const Value& body, std::string_view key) {
  const Value* found = body.find(key);
  return found != nullptr ? *found : Value();
}

const json::Array& list(const Value& body, std::string_view key) {
  static const json::Array kNone;
  const Value* found = body.find(key);
  const json::Array* array = found != nullptr ? found->as_array() : nullptr;
  return array != nullptr ? *array : kNone;
}

Value usage_json(const llm::Usage& usage) {
  return Value::object({{"input_tokens", usage.input_tokens},
                        {"output_tokens", usage.output_tokens},
                        {"cached_tokens", usage.cached_tokens}});
}

llm::Usage usage_from(const Value& value) {
  return {value.int_or("input_tokens", 0), value.int_or("output_tokens", 0),
          value.int_or("cached_tokens", 0)};
}

Value call_json(const llm::ToolCall& call) {
  return Value::object({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
}

Value prepared_json(const tools::PreparedCall& call) {
  Value v = Value::object({{"id", call.id},
                           {"name", call.name},
                           {"arguments", call.arguments},
                           {"decision", kDecisions[static_cast<size_t>(call.decision)]}});
  if (!call.refusal.empty()) v.set("refusal", call.refusal);
  if (!call.description.empty()) v.set("description", call.description);
  if (call.idempotence == tools::Idempotence::kRepeatable) v.set("repeatable", true);
  return v;
}

tools::PreparedCall prepared_from(const Value& v) {
  tools::PreparedCall call{
      .id = v.string_or("id"), .name = v.string_or("name"), .arguments = member(v, "arguments")};
  const std::string decision = v.string_or("decision");
  for (size_t i = 0; i < kDecisions.size(); ++i) {
    if (kDecisions[i] == decision) call.decision = static_cast<tools::PreparedCall::Decision>(i);
  }
  call.refusal = v.string_or("refusal");
  call.description = v.string_or("description");
  call.idempotence =
      v.bool_or("repeatable", false) ? tools::Idempotence::kRepeatable : tools::Idempotence::kOnce;
  return call;
}

Value error_json(const Error& error) { return json::from_error(error); }

Error error_from(const Value& v) {
  Error error{.code = code_from_name(v.string_or("code")).value_or(Code::kInternal),
              .message = v.string_or("message")};
  const Value context = member(v, "context");
  if (const Object* object = context.as_object()) {
    for (const json::Member& m : *object)
      error.with(m.key, m.value.as_string() != nullptr ? *m.value.as_string() : "");
  }
  if (const std::int64_t ms = v.int_or("retry_after_ms", -1); ms >= 0)
    error.retry_after = std::chrono::milliseconds(ms);
  return error;
}

struct ToBody {
  Object operator()(const TurnStarted& in) const {
    Object o{{"turn", in.turn},
             {"number", in.number},
             {"message_id", in.message_id},
             {"input", in.input},
             {"content", in.content},
             {"agent", in.agent},
             {"model", in.model},
             {"system", in.system_hash},
             {"tools", in.tools_hash},
             {"channel", in.channel},
             {"max_iterations", in.max_iterations},
             {"context_tokens", in.context_tokens},
             {"at", in.at}};
    if (!in.client_tools.empty()) {
      json::Array names;
      for (const std::string& name : in.client_tools) names.push_back(name);
      o.set("client_tools", std::move(names));
    }
    if (!in.history.empty()) {
      json::Array messages;
      for (const llm::Message& message : in.history) messages.push_back(llm::to_json(message));
      o.set("history", std::move(messages));
    }
    if (in.temperature) o.set("temperature", *in.temperature);
    if (in.max_tokens) o.set("max_tokens", *in.max_tokens);
    return o;
  }
  Object operator()(const ModelRequested& in) const {
    return {{"iteration", in.iteration}, {"hash", in.hash}};
  }
  Object operator()(const ModelAnswered& in) const {
    const llm::Answer& a = in.answer;
    json::Array calls;
    for (const llm::ToolCall& call : a.tool_calls) calls.push_back(call_json(call));
    Object o{{"text", a.text},
             {"usage", usage_json(a.usage)},
             {"finish_reason", llm::finish_reason_name(a.finish_reason)},
             {"model", a.model}};
    if (!a.reasoning.empty()) o.set("reasoning", a.reasoning);
    if (!calls.empty()) o.set("tool_calls", std::move(calls));
    return o;
  }
  Object operator()(const ToolRequested& in) const {
    json::Array calls;
    for (const tools::PreparedCall& call : in.calls) calls.push_back(prepared_json(call));
    return {{"calls", std::move(calls)}};
  }
  Object operator()(const ToolStarted& in) const { return {{"id", in.id}, {"name", in.name}}; }
  Object operator()(const ToolFinished& in) const {
    return {{"id", in.call.id},           {"name", in.call.name},         {"text", in.call.text},
            {"preview", in.call.preview}, {"is_error", in.call.is_error}, {"ending", ending_name(in.ending)}};
  }
  Object operator()(const Asked& in) const {
    return {{"request_id", in.request_id},
            {"call_id", in.call_id},
            {"tool_name", in.tool_name},
            {"description", in.description},
            {"arguments", in.arguments}};
  }
  Object operator()(const Answered& in) const {
    return {{"request_id", in.request_id}, {"decision", decision_name(in.decision)}, {"input", in.input}};
  }
  Object operator()(const Steered& in) const {
    Object o{{"message_id", in.message_id}, {"input", in.input}};
    if (!in.next_turn.empty()) o.set("next_turn", in.next_turn);
    return o;
  }
  Object operator()(const Compacted& in) const {
    json::Array shorten;
    for (const std::int64_t n : in.plan.shorten) shorten.push_back(static_cast<long long>(n));
    return {{"drop_below", in.plan.drop_below},
            {"shorten", std::move(shorten)},
            {"tokens_before", in.plan.tokens_before},
            {"tokens_after", in.plan.tokens_after},
            {"refused_length", in.refused_length}};
  }
  Object operator()(const Interrupted& in) const { return {{"reason", in.reason}}; }
  Object operator()(const TurnFinished& in) const {
    return {{"reply", in.reply},
            {"usage", usage_json(in.usage)},
            {"finish_reason", llm::finish_reason_name(in.finish_reason)},
            {"at", in.at}};
  }
  Object operator()(const TurnFailed& in) const { return {{"error", error_json(in.error)}}; }
  Object operator()(const Forked& in) const { return {{"from", in.from}, {"at", in.at}}; }
};

Result<Input> read(const Value& v, TurnStarted in) {
  in.turn = v.string_or("turn");
  in.number = v.int_or("number", 0);
  in.message_id = v.string_or("message_id");
  in.input = v.string_or("input");
  in.content = v.string_or("content");
  in.agent = v.string_or("agent");
  in.model = v.string_or("model");
  in.system_hash = v.string_or("system");
  in.tools_hash = v.string_or("tools");
  in.channel = v.string_or("channel");
  in.max_iterations = static_cast<int>(v.int_or("max_iterations", 0));
  in.context_tokens = v.int_or("context_tokens", 0);
  in.at = v.int_or("at", 0);
  for (const Value& name : list(v, "client_tools")) {
    if (name.as_string() != nullptr) in.client_tools.insert(*name.as_string());
  }
  for (const Value& message : list(v, "history")) {
    auto read_message = llm::message_from_json(message);
    if (!read_message) return fail(read_message.error());
    in.history.push_back(std::move(*read_message));
  }
  if (const Value t = member(v, "temperature"); t.is_number()) in.temperature = t.as_double();
  if (const Value m = member(v, "max_tokens"); m.is_number()) in.max_tokens = m.as_int();
  return in;
}

Result<Input> read(const Value& v, ModelRequested) {
  return ModelRequested{static_cast<int>(v.int_or("iteration", 0)), v.string_or("hash")};
}

Result<Input> read(const Value& v, ModelAnswered in) {
  in.answer.text = v.string_or("text");
  in.answer.reasoning = v.string_or("reasoning");
  for (const Value& call : list(v, "tool_calls")) {
    in.answer.tool_calls.push_back(
        {call.string_or("id"), call.string_or("name"), call.string_or("arguments")});
  }
  in.answer.usage = usage_from(member(v, "usage"));
  in.answer.finish_reason = llm::finish_reason_from_name(v.string_or("finish_reason"));
  in.answer.model = v.string_or("model");
  return in;
}

Result<Input> read(const Value& v, ToolRequested in) {
  for (const Value& call : list(v, "calls")) in.calls.push_back(prepared_from(call));
  return in;
}

Result<Input> read(const Value& v, ToolStarted) {
  return ToolStarted{v.string_or("id"), v.string_or("name")};
}

Result<Input> read(const Value& v, ToolFinished in) {
  in.call = {v.string_or("id"), v.string_or("name"), v.string_or("text"), v.string_or("preview"),
             v.bool_or("is_error", false)};
  in.ending = ending_from_name(v.string_or("ending")).value_or(Ending::kRan);
  return in;
}

Result<Input> read(const Value& v, Asked) {
  return Asked{v.string_or("request_id"), v.string_or("call_id"), v.string_or("tool_name"),
               v.string_or("description"), member(v, "arguments")};
}

Result<Input> read(const Value& v, Answered) {
  return Answered{v.string_or("request_id"),
                  decision_from_name(v.string_or("decision")).value_or(Decision::kDeny),
                  v.string_or("input")};
}

Result<Input> read(const Value& v, Steered) {
  return Steered{v.string_or("message_id"), v.string_or("input"), v.string_or("next_turn")};
}

Result<Input> read(const Value& v, Compacted in) {
  in.plan.drop_below = v.int_or("drop_below", 0);
  for (const Value& n : list(v, "shorten")) in.plan.shorten.push_back(n.as_int().value_or(-1));
  in.plan.tokens_before = v.int_or("tokens_before", 0);
  in.plan.tokens_after = v.int_or("tokens_after", 0);
  in.refused_length = v.bool_or("refused_length", false);
  return in;
}

Result<Input> read(const Value& v, Interrupted) { return Interrupted{v.string_or("reason")}; }

Result<Input> read(const Value& v, TurnFinished) {
  return TurnFinished{v.string_or("reply"), usage_from(member(v, "usage")),
                      llm::finish_reason_from_name(v.string_or("finish_reason")), v.int_or("at", 0)};
}

Result<Input> read(const Value& v, TurnFailed) { return TurnFailed{error_from(member(v, "error"))}; }
Result<Input> read(const Value& v, Forked) { return Forked{v.string_or("from"), v.int_or("at", 0)}; }

template <size_t... I>
Result<Input> read_kind(std::string_view kind, const Value& value, std::index_sequence<I...>) {
  Result<Input> result = fail(Code::kUnsupported, "the log holds a record of the unknown kind '{}'", kind);
  ((kKinds[I] == kind ? void(result = read(value, std::variant_alternative_t<I, Input>{})) : void()), ...);
  return result;
}

}  // namespace

std::string_view kind_of(const Input& input) { return kKinds[input.index()]; }
std::span<const std::string_view> all_kinds() { return kKinds; }
std::string_view ending_name(Ending ending) { return kEndings[static_cast<size_t>(ending)]; }

std::optional<Ending> ending_from_name(std::string_view name) {
  for (size_t i = 0; i < kEndings.size(); ++i) {
    if (kEndings[i] == name) return static_cast<Ending>(i);
  }
  return std::nullopt;
}

std::string to_body(const Input& input) {
  Object body{{"v", kVersion}};
  for (json::Member& m : std::visit(ToBody{}, input)) body.append(std::move(m.key), std::move(m.value));
  return json::write(Value(std::move(body)));
}

Result<Input> from_body(std::string_view kind, std::string_view body) {
  const auto value = json::parse(body);
  if (!value) return fail(value.error());
  if (const std::int64_t version = value->int_or("v", 0); version < 1 || version > kVersion) {
    return fail(Code::kUnsupported, "a {} record has version {}; this program reads up to {}", kind, version,
                kVersion);
  }
  return read_kind(kind, *value, std::make_index_sequence<kKinds.size()>{});
}

}  // namespace chela::agent::turn

namespace chela::agent {

std::string_view decision_name(Decision decision) { return turn::kAnswers[static_cast<size_t>(decision)]; }

std::optional<Decision> decision_from_name(std::string_view name) {
  for (size_t i = 0; i < turn::kAnswers.size(); ++i) {
    if (turn::kAnswers[i] == name) return static_cast<Decision>(i);
  }
  return std::nullopt;
}

}  // namespace chela::agent
