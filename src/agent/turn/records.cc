#include "agent/turn/records.h"

#include <array>

#include "agent/turn/record_values.h"

namespace chela::agent::turn {
namespace {

using json::Object;
using json::Value;

constexpr std::int64_t kVersion = 1;

constexpr std::array<std::string_view, 19> kKinds{"TurnStarted",
                                                  "ModelRequested",
                                                  "ModelAnswered",
                                                  "ToolRequested",
                                                  "ToolStarted",
                                                  "ToolFinished",
                                                  "Asked",
                                                  "Answered",
                                                  "Steered",
                                                  "Compacted",
                                                  "Interrupted",
                                                  "TurnFinished",
                                                  "TurnFailed",
                                                  "Forked",
                                                  "Undone",
                                                  "Redone",
                                                  "Cleared",
                                                  "CredentialAsked",
                                                  "CredentialAnswered"};
static_assert(kKinds.size() == std::variant_size_v<Input>);

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
             {"prompt_tokens", in.prompt_tokens},
             {"permissions", permissions_json(in.permissions)},
             {"at", in.at}};
    if (!in.client_key.empty()) o.set("client_key", in.client_key);
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
    llm::add_to(o, in.sampling);
    add_choice(o, in.tool_choice, in.tool_choice_name);
    if (in.sees_images) o.set("sees_images", true);
    if (!in.client_system_hash.empty()) o.set("client_system", in.client_system_hash);
    if (in.tool_calling != llm::ToolCalling::kNative)
      o.set("tool_calling", llm::tool_calling_name(in.tool_calling));
    set_attachments(o, in.attachments);
    return o;
  }
  Object operator()(const ModelRequested& in) const {
    Object o{{"iteration", in.iteration}, {"hash", in.hash}};
    if (!in.prefix.hash.empty()) {
      o.set("prefix", in.prefix.hash);
      o.set("prefix_messages", in.prefix.messages);
      o.set("prefix_is", prefix_name(in.prefix.is));
    }
    return o;
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
    if (!a.provider_data.empty()) o.set("provider_data", a.provider_data);
    if (in.refused != dialects::Refused::kNothing) o.set("refused", refused_name(in.refused));
    if (!a.provider.empty()) o.set("provider", a.provider);
    if (!in.choices.empty()) o.set("choices", in.choices);
    return o;
  }
  Object operator()(const ToolRequested& in) const {
    json::Array calls;
    for (const tools::PreparedCall& call : in.calls) calls.push_back(prepared_json(call));
    return {{"calls", std::move(calls)}};
  }
  Object operator()(const ToolStarted& in) const { return {{"id", in.id}, {"name", in.name}}; }
  Object operator()(const ToolFinished& in) const {
    Object o{
        {"id", in.call.id},           {"name", in.call.name},         {"text", in.call.text},
        {"preview", in.call.preview}, {"is_error", in.call.is_error}, {"ending", ending_name(in.ending)}};
    if (!in.message_id.empty()) o.set("message_id", in.message_id);
    return o;
  }
  Object operator()(const Asked& in) const {
    return {{"request_id", in.request_id},
            {"call_id", in.call_id},
            {"tool_name", in.tool_name},
            {"description", in.description},
            {"arguments", in.arguments}};
  }
  Object operator()(const Answered& in) const {
    Object o{{"request_id", in.request_id}, {"decision", decision_name(in.decision)}, {"input", in.input}};
    if (!in.message_id.empty()) o.set("message_id", in.message_id);
    return o;
  }
  Object operator()(const Steered& in) const {
    Object o{{"message_id", in.message_id}, {"input", in.input}};
    if (!in.next_turn.empty()) o.set("next_turn", in.next_turn);
    if (in.with == Steered::With::kResults) o.set("with_results", true);
    if (in.terms != Terms{}) o.set("terms", terms_json(in.terms));
    if (!in.content.empty()) o.set("content", in.content);
    set_attachments(o, in.attachments);
    o.set("permissions", permissions_json(in.permissions));
    if (!in.client_key.empty()) o.set("client_key", in.client_key);
    return o;
  }
  Object operator()(const Compacted& in) const {
    json::Array shorten;
    for (const std::int64_t n : in.plan.shorten) shorten.push_back(static_cast<long long>(n));
    Object o{{"drop_below", in.plan.drop_below},
             {"shorten", std::move(shorten)},
             {"tokens_before", in.plan.tokens_before},
             {"tokens_after", in.plan.tokens_after},
             {"refused_length", in.refused_length}};
    if (!in.plan.summary.empty()) o.set("summary", in.plan.summary);
    if (in.usage) o.set("usage", usage_json(*in.usage));
    return o;
  }
  Object operator()(const Interrupted& in) const { return {{"reason", in.reason}}; }
  Object operator()(const TurnFinished& in) const {
    return {{"reply", in.reply},
            {"usage", usage_json(in.usage)},
            {"finish_reason", llm::finish_reason_name(in.finish_reason)},
            {"at", in.at}};
  }
  Object operator()(const TurnFailed& in) const { return {{"error", json::from_error(in.error)}}; }
  Object operator()(const Forked& in) const { return {{"from", in.from}, {"at", in.at}}; }
  Object operator()(const Undone& in) const { return {{"turn", in.turn}, {"number", in.number}}; }
  Object operator()(const Redone& in) const { return {{"turn", in.turn}, {"number", in.number}}; }
  Object operator()(const Cleared& in) const { return {{"turns", in.turns}}; }
  Object operator()(const CredentialAsked& in) const {
    Object o{{"request_id", in.request_id},
             {"call_id", in.call_id},
             {"name", in.name},
             {"instructions", in.instructions},
             {"expires_at", in.expires_at}};
    if (!in.auth_url.empty()) o.set("auth_url", in.auth_url);
    if (!in.setup_url.empty()) o.set("setup_url", in.setup_url);
    if (in.replacing == tools::Replacing::kExisting) o.set("replaces", true);
    return o;
  }
  Object operator()(const CredentialAnswered& in) const {
    return {{"request_id", in.request_id}, {"name", in.name}, {"end", credential_end_name(in.end)}};
  }
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
  in.prompt_tokens = v.int_or("prompt_tokens", 0);
  in.permissions = permissions_from(v);
  in.at = v.int_or("at", 0);
  in.sees_images = v.bool_or("sees_images", false);
  in.client_system_hash = v.string_or("client_system");
  in.tool_calling =
      llm::tool_calling_from_name(v.string_or("tool_calling")).value_or(llm::ToolCalling::kNative);
  in.client_key = v.string_or("client_key");
  in.attachments = attachments_from(v);
  for (const Value& name : list(v, "client_tools")) {
    if (name.as_string() != nullptr) in.client_tools.insert(*name.as_string());
  }
  for (const Value& message : list(v, "history")) {
    auto read_message = llm::message_from_json(message);
    if (!read_message) return fail(read_message.error());
    in.history.push_back(std::move(*read_message));
  }
  in.sampling = llm::sampling_from_json(v);
  in.tool_choice = choice_from(v);
  in.tool_choice_name = v.string_or("tool_choice_name");
  return in;
}

Result<Input> read(const Value& v, ModelRequested) {
  return ModelRequested{static_cast<int>(v.int_or("iteration", 0)),
                        v.string_or("hash"),
                        {.hash = v.string_or("prefix"),
                         .messages = v.int_or("prefix_messages", 0),
                         .is = prefix_from_name(v.string_or("prefix_is")).value_or(Prefix::kFirst)}};
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
  in.answer.provider = v.string_or("provider");
  in.answer.provider_data = v.string_or("provider_data");
  in.refused = refused_from_name(v.string_or("refused")).value_or(dialects::Refused::kNothing);
  in.choices = list(v, "choices");
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
  in.message_id = v.string_or("message_id");
  return in;
}

Result<Input> read(const Value& v, Asked) {
  return Asked{v.string_or("request_id"), v.string_or("call_id"), v.string_or("tool_name"),
               v.string_or("description"), member(v, "arguments")};
}

Result<Input> read(const Value& v, Answered) {
  return Answered{v.string_or("request_id"),
                  decision_from_name(v.string_or("decision")).value_or(Decision::kDeny), v.string_or("input"),
                  v.string_or("message_id")};
}

Result<Input> read(const Value& v, Steered) {
  return Steered{v.string_or("message_id"),
                 v.string_or("input"),
                 v.string_or("next_turn"),
                 v.bool_or("with_results", false) ? Steered::With::kResults : Steered::With::kNothing,
                 terms_from(member(v, "terms")),
                 v.string_or("content"),
                 attachments_from(v),
                 permissions_from(v),
                 v.string_or("client_key")};
}

Result<Input> read(const Value& v, Compacted in) {
  in.plan.drop_below = v.int_or("drop_below", 0);
  for (const Value& n : list(v, "shorten")) in.plan.shorten.push_back(n.as_int().value_or(-1));
  in.plan.tokens_before = v.int_or("tokens_before", 0);
  in.plan.tokens_after = v.int_or("tokens_after", 0);
  in.plan.summary = v.string_or("summary");
  if (v.find("usage") != nullptr) in.usage = usage_from(member(v, "usage"));
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
Result<Input> read(const Value& v, Undone) { return Undone{v.string_or("turn"), v.int_or("number", 0)}; }
Result<Input> read(const Value& v, Redone) { return Redone{v.string_or("turn"), v.int_or("number", 0)}; }
Result<Input> read(const Value& v, Cleared) { return Cleared{v.int_or("turns", 0)}; }

Result<Input> read(const Value& v, CredentialAsked) {
  return CredentialAsked{
      v.string_or("request_id"),
      v.string_or("call_id"),
      v.string_or("name"),
      v.string_or("instructions"),
      v.string_or("auth_url"),
      v.string_or("setup_url"),
      v.int_or("expires_at", 0),
      v.bool_or("replaces", false) ? tools::Replacing::kExisting : tools::Replacing::kNothing};
}

Result<Input> read(const Value& v, CredentialAnswered in) {
  in.request_id = v.string_or("request_id");
  in.name = v.string_or("name");
  in.end = credential_end_from_name(v.string_or("end")).value_or(CredentialEnd::kCancelled);
  return in;
}

template <size_t... I>
Result<Input> read_kind(std::string_view kind, const Value& value, std::index_sequence<I...>) {
  Result<Input> result = fail(Code::kUnsupported, "the log holds a record of the unknown kind '{}'", kind);
  ((kKinds[I] == kind ? void(result = read(value, std::variant_alternative_t<I, Input>{})) : void()), ...);
  return result;
}

}  // namespace

std::string_view kind_of(const Input& input) { return kKinds[input.index()]; }
std::span<const std::string_view> all_kinds() { return kKinds; }

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
