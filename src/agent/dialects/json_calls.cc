#include "agent/dialects/json_calls.h"

#include "agent/dialects/limits.h"

namespace chela::agent::dialects {
namespace {

using json::Value;

std::string_view trimmed(const Value* value) {
  const std::string* text = value != nullptr ? value->as_string() : nullptr;
  return text != nullptr ? strings::trim(*text) : std::string_view();
}

const Value* first_of(const Value& object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const Value* found = object.find(key)) return found;
  }
  return nullptr;
}

// The first id that is there decides, also when it is no text: then there is none.
std::string id_of(const Value& call, const Value* function) {
  const Value* id = function != nullptr ? function->find("id") : nullptr;
  if (id == nullptr) id = first_of(call, {"id", "tool_call_id", "call_id"});
  return std::string(trimmed(id));
}

bool is_schema(const Value& parameters, const Tool& tool) {
  const Value* fields = parameters.find("properties");
  return parameters.string_or("type") == "object" && fields != nullptr && fields->is_object() &&
         (property(tool, "type") == nullptr || property(tool, "properties") == nullptr);
}

// A model that repeats the list of its tools calls none of them.
bool is_declaration(const Value& described, const Tool& tool) {
  if (described.find("input_schema") != nullptr || described.find("inputSchema") != nullptr) return true;
  if (described.find("arguments") != nullptr) return false;
  const Value* parameters = described.find("parameters");
  return described.find("description") != nullptr || (parameters != nullptr && is_schema(*parameters, tool));
}

// Which part of a call names the tool, and how.
struct Named {
  const Value* part = nullptr;  // where the arguments are looked for first
  std::string_view name;
};

Named name_of(const Value& call, JsonStyle style) {
  if (style == JsonStyle::kCohere) return {.part = &call, .name = trimmed(call.find("tool_name"))};
  const Value* function = style == JsonStyle::kStrict ? nullptr : call.find("function");
  if (function != nullptr && function->is_string()) return {.part = &call, .name = trimmed(function)};
  if (function != nullptr) {
    if (const std::string_view name = trimmed(function->find("name")); !name.empty())
      return {.part = function, .name = name};
  }
  return {.part = &call, .name = trimmed(call.find("name"))};
}

void add_call(const Value& value, const ToolSet& tools, JsonStyle style, std::vector<Call>& out) {
  if (!value.is_object()) return;
  const Named named = name_of(value, style);
  const Tool* tool = named.name.empty() ? nullptr : tools.find(named.name);
  if (tool == nullptr || is_declaration(*named.part, *tool) || is_declaration(value, *tool)) return;
  const Value* function = value.find("function");
  Call call{.name = tool->name, .id = id_of(value, function)};
  if (style == JsonStyle::kStrict) {
    const Value* arguments = value.find("arguments");
    if (arguments != nullptr) call.arguments = *arguments;
    out.push_back(std::move(call));
    return;
  }
  const Value* written = first_of(*named.part, {"arguments", "parameters"});
  if (written == nullptr) written = first_of(value, {"arguments", "parameters"});
  if (written == nullptr && style == JsonStyle::kBare) return;
  if (written != nullptr) {
    std::optional<Value> arguments = unpack_arguments(*written);
    if (!arguments) return;
    call.arguments = std::move(*arguments);
  }
  out.push_back(std::move(call));
}

void add_list(const json::Array& list, const ToolSet& tools, JsonStyle style, std::vector<Call>& out) {
  for (const Value& each : list) add_call(each, tools, style, out);
}

// The message of a response body, else the value itself.
const Value& message_of(const Value& value) {
  const Value* choices = value.find("choices");
  const json::Array* list = choices != nullptr ? choices->as_array() : nullptr;
  const Value* message = list != nullptr && !list->empty() ? list->front().find("message") : nullptr;
  return message != nullptr ? *message : value;
}

}  // namespace

std::optional<Value> unpack_arguments(const Value& written) {
  Value value = written;
  for (int wraps = 0; value.is_string(); ++wraps) {
    const std::string text = *value.as_string();
    Result<Value> inner = json::parse(text);
    if (!inner || wraps == kMaxStringWraps) {
      const std::string_view start = strings::trim(text);
      if (start.starts_with('{') || start.starts_with('[') || start.starts_with('"')) return std::nullopt;
      return Value::object();
    }
    value = std::move(*inner);
  }
  return value;
}

std::vector<Call> calls_from_json(const Value& value, const ToolSet& tools, JsonStyle style) {
  std::vector<Call> calls;
  const Value& message = message_of(value);
  if (const Value* written = message.find("tool_calls"); written != nullptr && style != JsonStyle::kStrict) {
    // A list of calls is a mark of its own.
    if (const json::Array* list = written->as_array()) add_list(*list, tools, JsonStyle::kTagged, calls);
    if (!calls.empty()) return calls;
  }
  if (const json::Array* list = value.as_array()) {
    if (style != JsonStyle::kStrict) add_list(*list, tools, style, calls);
  } else {
    add_call(value, tools, style, calls);
  }
  return calls;
}

}  // namespace chela::agent::dialects
