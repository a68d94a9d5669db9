#include "agent/turn/record_values.h"

#include <algorithm>
#include <array>

#include "agent/turn/request.h"

namespace chela::agent::turn {

using json::Object;
using json::Value;

namespace {

constexpr std::array<std::string_view, 5> kEndings{"ran", "refused", "denied", "interrupted", "client"};
constexpr std::array<std::string_view, 3> kDecisions{"run", "ask", "refused"};
constexpr std::array<std::string_view, 3> kCredentialEnds{"stored", "cancelled", "expired"};
constexpr std::array<std::string_view, 3> kChoices{"auto", "none", "required"};
constexpr std::array<std::string_view, 3> kAnswers{"approve", "always", "deny"};
constexpr std::array<std::string_view, 3> kRefusals{"nothing", "unreadable", "cut"};
constexpr std::array<std::string_view, 3> kAttachmentKinds{"file", "text", "image"};

// The value of an enumeration that stands at the name's place.
template <class E, size_t N>
std::optional<E> named(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<E>(found - names.begin()));
}

}  // namespace

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

void set_attachments(Object& o, const std::vector<Attachment>& attachments) {
  if (attachments.empty()) return;
  json::Array array;
  for (const Attachment& each : attachments) {
    Value v = Value::object({{"name", each.name},
                             {"media_type", each.media_type},
                             {"size", each.size},
                             {"path", each.path},
                             {"kind", attachment_kind_name(each.kind)}});
    if (!each.hash.empty()) v.set("hash", each.hash);
    array.push_back(std::move(v));
  }
  o.set("attachments", std::move(array));
}

std::vector<Attachment> attachments_from(const Value& body) {
  std::vector<Attachment> out;
  for (const Value& v : list(body, "attachments")) {
    Attachment each{.name = v.string_or("name"),
                    .media_type = v.string_or("media_type"),
                    .size = v.int_or("size", 0),
                    .path = v.string_or("path"),
                    .hash = v.string_or("hash")};
    each.kind = named<Attachment::Kind>(kAttachmentKinds, v.string_or("kind")).value_or(each.kind);
    out.push_back(std::move(each));
  }
  return out;
}

Value prepared_json(const tools::PreparedCall& call) {
  Value v = Value::object({{"id", call.id},
                           {"name", call.name},
                           {"arguments", call.arguments},
                           {"decision", kDecisions[static_cast<size_t>(call.decision)]}});
  if (!call.refusal.empty()) v.set("refusal", call.refusal);
  if (!call.description.empty()) v.set("description", call.description);
  if (call.idempotence == tools::Idempotence::kRepeatable) v.set("repeatable", true);
  if (call.consent == tools::Consent::kGiven) v.set("consent", true);
  return v;
}

tools::PreparedCall prepared_from(const Value& v) {
  tools::PreparedCall call{
      .id = v.string_or("id"), .name = v.string_or("name"), .arguments = member(v, "arguments")};
  call.decision =
      named<tools::PreparedCall::Decision>(kDecisions, v.string_or("decision")).value_or(call.decision);
  call.refusal = v.string_or("refusal");
  call.description = v.string_or("description");
  call.idempotence =
      v.bool_or("repeatable", false) ? tools::Idempotence::kRepeatable : tools::Idempotence::kOnce;
  call.consent = v.bool_or("consent", false) ? tools::Consent::kGiven : tools::Consent::kNotAsked;
  return call;
}

void add_choice(Object& o, llm::ToolChoice choice, const std::string& name) {
  if (choice != llm::ToolChoice::kAuto) o.set("tool_choice", kChoices[static_cast<size_t>(choice)]);
  if (!name.empty()) o.set("tool_choice_name", name);
}

llm::ToolChoice choice_from(const Value& v) {
  return named<llm::ToolChoice>(kChoices, v.string_or("tool_choice")).value_or(llm::ToolChoice::kAuto);
}

Value terms_json(const Terms& terms) {
  Object o;
  llm::add_to(o, terms.sampling);
  add_choice(o, terms.tool_choice, terms.tool_choice_name);
  if (!terms.tools.empty()) o.set("tools", tools_to_text(terms.tools));
  if (!terms.system.empty()) o.set("system", terms.system);
  return o;
}

Terms terms_from(const Value& v) {
  return {.sampling = llm::sampling_from_json(v),
          .tool_choice = choice_from(v),
          .tool_choice_name = v.string_or("tool_choice_name"),
          .tools = tools_from_text(v.string_or("tools", "[]")).value_or(std::vector<llm::ToolSpec>{}),
          .system = v.string_or("system")};
}

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

json::Array permissions_json(const op::Permissions& permissions) {
  json::Array names;
  for (const std::string& name : permissions) names.push_back(name);
  return names;
}

op::Permissions permissions_from(const Value& v) {
  if (v.find("permissions") == nullptr) return {"*"};
  op::Permissions permissions;
  for (const Value& name : list(v, "permissions")) {
    if (name.as_string() != nullptr) permissions.insert(*name.as_string());
  }
  return permissions;
}

std::string_view refused_name(dialects::Refused refused) { return kRefusals[static_cast<size_t>(refused)]; }
std::optional<dialects::Refused> refused_from_name(std::string_view name) {
  return named<dialects::Refused>(kRefusals, name);
}
std::string_view credential_end_name(CredentialEnd end) { return kCredentialEnds[static_cast<size_t>(end)]; }
std::optional<CredentialEnd> credential_end_from_name(std::string_view name) {
  return named<CredentialEnd>(kCredentialEnds, name);
}
std::string_view attachment_kind_name(Attachment::Kind kind) {
  return kAttachmentKinds[static_cast<size_t>(kind)];
}
std::string_view ending_name(Ending ending) { return kEndings[static_cast<size_t>(ending)]; }

std::optional<Ending> ending_from_name(std::string_view name) { return named<Ending>(kEndings, name); }

}  // namespace chela::agent::turn

namespace chela::agent {

std::string_view decision_name(Decision decision) { return turn::kAnswers[static_cast<size_t>(decision)]; }

std::optional<Decision> decision_from_name(std::string_view name) {
  return turn::named<Decision>(turn::kAnswers, name);
}

}  // namespace chela::agent
