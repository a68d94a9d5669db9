#include "bus/wire.h"

#include <algorithm>
#include <array>

#include "base/ids.h"
#include "base/json.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "bus/limits.h"

namespace chela::bus {
namespace {

constexpr size_t kEnvelopeBytes = 192;  // what most envelopes need on each side of their value
constexpr std::string_view kCallerKey = "_caller_worker_id";

constexpr std::array<std::pair<std::string_view, FrameType>, 13> kTypes{{
    {"invokefunction", FrameType::kInvokeFunction},
    {"invocationresult", FrameType::kInvocationResult},
    {"registerfunction", FrameType::kRegisterFunction},
    {"unregisterfunction", FrameType::kUnregisterFunction},
    {"registerservice", FrameType::kRegisterService},
    {"registertriggertype", FrameType::kRegisterTriggerType},
    {"unregistertriggertype", FrameType::kUnregisterTriggerType},
    {"registertrigger", FrameType::kRegisterTrigger},
    {"unregistertrigger", FrameType::kUnregisterTrigger},
    {"triggerregistrationresult", FrameType::kTriggerRegistrationResult},
    {"reattach", FrameType::kReattach},
    {"ping", FrameType::kPing},
    {"pong", FrameType::kPong},
}};

void append(std::string& out, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) out += part;
}

void member(std::string& out, std::string_view key, std::string_view text) {
  append(out, {",\"", key, "\":"});
  json::write_string_to(out, text);
}

void raw_member(std::string& out, std::string_view key, std::string_view value) {
  if (!value.empty()) append(out, {",\"", key, "\":", value});
}

void trace_members(std::string& out, const Trace& trace) {
  raw_member(out, "traceparent", trace.traceparent);
  raw_member(out, "baggage", trace.baggage);
}

// Without the key of a caller, should an object have one (a payload handed on, or a forgery); "" when it has none.
std::string without_caller(std::string_view data) {
  if (data.find(kCallerKey) == std::string_view::npos) return {};
  Result<json::Value> value = json::parse(data);
  if (!value || value->find(kCallerKey) == nullptr) return {};
  value->as_object()->erase(kCallerKey);
  return json::write(*value);
}

// What stands behind an object's members once the caller's id is one of them.
void close_with_caller(std::string& out, std::string_view data, std::string_view caller) {
  const std::string_view inside = strings::trim(data.substr(1, data.size() - 2));
  append(out, {inside.empty() ? "\"" : ",\"", kCallerKey, "\":\"", caller, "\"}"});
}

}  // namespace

Result<Envelope> Envelope::read(Scanner& scanner, std::string_view text) {
  const Result<std::span<const RawMember>> members = scanner.scan(text);
  if (!members) return fail(members.error());
  Envelope made;
  made.members_ = *members;
  if (const std::optional<std::string_view> type = made.raw("type"); type && type->size() > 2) {
    const std::string_view name = type->substr(1, type->size() - 2);
    for (const auto& [known, value] : kTypes) {
      if (name == known) made.type_ = value;
    }
  }
  return made;
}

std::optional<std::string_view> Envelope::raw_or_null(std::string_view key) const {
  // The last of duplicate keys wins.
  for (size_t i = members_.size(); i-- > 0;) {
    if (members_[i].key == key) return members_[i].value;
  }
  return std::nullopt;
}

std::optional<std::string_view> Envelope::raw(std::string_view key) const {
  const std::optional<std::string_view> value = raw_or_null(key);
  return value && *value != "null" ? value : std::nullopt;
}

std::optional<std::string_view> Envelope::text(std::string_view key, size_t max) {
  const std::optional<std::string_view> value = raw(key);
  if (!value || value->front() != '"') return std::nullopt;
  std::string_view inside = value->substr(1, value->size() - 2);
  if (inside.find('\\') != std::string_view::npos) {
    const Result<json::Value> parsed = json::parse(*value);
    if (!parsed || parsed->as_string() == nullptr) return std::nullopt;
    inside = unescaped_.emplace_front(*parsed->as_string());
  }
  if (inside.size() > max) return std::nullopt;
  return inside;
}

Result<std::string_view> Envelope::id(std::string_view key) {
  const std::optional<std::string_view> value = text(key, kMaxIdBytes);
  if (!value || !is_foreign_id(*value)) {
    return fail(Code::kInvalidArgument, "{} must be a text of 1 to {} bytes without control characters", key,
                kMaxIdBytes);
  }
  return *value;
}

WireError to_wire(const Error& error) {
  const std::string_view own = error.detail("bus_code");
  return {.code = std::string(own.empty() ? code_name(error.code) : own),
          .message = std::string(utf8::prefix(error.message, kMaxErrorMessageBytes))};
}

Error from_wire(std::string_view raw) {
  const Result<json::Value> body = json::parse(raw);
  const std::string code = body ? body->string_or("code", "UNKNOWN") : "UNKNOWN";
  std::string message = body ? body->string_or("message") : "";
  if (message.empty()) message = "the function failed without a message";
  Code own = code_from_name(code).value_or(Code::kUpstream);
  if (code == "function_not_found") own = Code::kNotFound;
  if (code == "FORBIDDEN") own = Code::kPermissionDenied;
  if (code == "invocation_stopped") own = Code::kUnavailable;
  return Error{.code = own, .message = std::move(message)}.with("bus_code", code);
}

namespace write {

std::string quoted(std::string_view text) {
  std::string out;
  if (!text.empty()) json::write_string_to(out, text);
  return out;
}

Relay invoke(const Invoke& message) {
  Relay out;
  out.before.reserve(kEnvelopeBytes);
  out.after.reserve(kEnvelopeBytes);
  append(out.before, {R"({"type":"invokefunction","invocation_id":")", message.invocation_id, "\""});
  member(out.before, "function_id", message.function_id);
  out.before += ",\"data\":";
  out.value = message.data.empty() ? "null" : message.data;
  if (!message.caller_worker.empty() && out.value.front() == '{') {
    out.cleaned = without_caller(out.value);
    const std::string_view data = out.cleaned.empty() ? out.value : out.cleaned;
    close_with_caller(out.after, data, message.caller_worker);
    if (out.cleaned.empty()) {
      out.value.remove_suffix(1);
    } else {
      out.cleaned.pop_back();
    }
  }
  trace_members(out.after, message.trace);
  raw_member(out.after, "metadata", message.metadata);
  out.after += '}';
  return out;
}

void error(std::string& out, const WireError& error) {
  append(out, {R"({"type":"error","error":)", error_json(error), "}"});
}

std::string error_json(const WireError& error) {
  std::string out = "{\"code\":";
  json::write_string_to(out, error.code);
  member(out, "message", error.message);
  out += '}';
  return out;
}

Relay result(const Outcome& message) {
  Relay out;
  out.before.reserve(kEnvelopeBytes);
  out.before += R"({"type":"invocationresult","invocation_id":)";
  json::write_string_to(out.before, message.invocation_id);
  member(out.before, "function_id", message.function_id);
  if (message.failure != nullptr) {
    raw_member(out.before, "error", error_json(*message.failure));
  } else if (!message.error.empty()) {
    out.before += ",\"error\":";
    out.value = message.error;
  } else if (!message.result.empty() && message.result != "null") {
    out.before += ",\"result\":";
    out.value = message.result;
  }
  trace_members(out.after, message.trace);
  out.after += '}';
  return out;
}

void worker_registered(std::string& out, std::string_view worker_id, std::string_view reattach_token) {
  append(out, {R"({"type":"workerregistered","worker_id":")", worker_id, R"(","reattach_token":")",
               reattach_token, "\"}"});
}

void register_trigger(std::string& out, const Trigger& trigger) {
  out += R"({"type":"registertrigger","id":)";
  json::write_string_to(out, trigger.id);
  member(out, "trigger_type", trigger.type);
  member(out, "function_id", trigger.function_id);
  raw_member(out, "config", trigger.config.empty() ? "{}" : trigger.config);
  raw_member(out, "metadata", trigger.metadata);
  out += '}';
}

void unregister_trigger(std::string& out, std::string_view id, std::string_view type) {
  out += R"({"type":"unregistertrigger","id":)";
  json::write_string_to(out, id);
  member(out, "trigger_type", type);
  out += '}';
}

void trigger_result(std::string& out, const Trigger& trigger, std::string_view error) {
  out += R"({"type":"triggerregistrationresult","id":)";
  json::write_string_to(out, trigger.id);
  member(out, "trigger_type", trigger.type);
  member(out, "function_id", trigger.function_id);
  raw_member(out, "error", error);
  out += '}';
}

void registration_rejected(std::string& out, std::string_view function_id, std::string_view owner_worker) {
  out += R"({"type":"registrationrejected","code":"FUNCTION_NAMESPACE_CONFLICT","namespace":"default")";
  member(out, "function_id", function_id);
  member(out, "owner_worker_id", owner_worker);
  out += '}';
}

void pong(std::string& out) { out += R"({"type":"pong"})"; }

}  // namespace write
}  // namespace chela::bus
