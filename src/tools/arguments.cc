#include "tools/arguments.h"

#include <algorithm>

#include "base/strings.h"
#include "schema/schema.h"

namespace chela::tools {
namespace {

bool contains_nul(const json::Value& value) {
  if (const std::string* text = value.as_string()) return text->contains('\0');
  if (const json::Array* items = value.as_array())
    return std::any_of(items->begin(), items->end(), contains_nul);
  if (const json::Object* members = value.as_object()) {
    return std::any_of(members->begin(), members->end(),
                       [](const json::Member& m) { return m.key.contains('\0') || contains_nul(m.value); });
  }
  return false;
}

bool is_required(const json::Value& schema, std::string_view key) {
  const json::Value* required = schema.find("required");
  const json::Array* names = required ? required->as_array() : nullptr;
  return names && std::any_of(names->begin(), names->end(), [key](const json::Value& name) {
           return name.as_string() && *name.as_string() == key;
         });
}

// Models fill optional parameters that they do not need with null. Where the schema does not take null, it means "not given".
void drop_empty_optionals(const json::Value& schema, json::Value& arguments) {
  const json::Value* properties = schema.find("properties");
  std::vector<std::string> drop;
  for (const json::Member& member : *arguments.as_object()) {
    const json::Value* property = properties ? properties->find(member.key) : nullptr;
    if (member.value.is_null() && property && !is_required(schema, member.key) &&
        !schema::validate(*property, member.value)) {
      drop.push_back(member.key);
    }
  }
  for (const std::string& key : drop) arguments.as_object()->erase(key);
}

}  // namespace

Result<json::Value> parse_arguments(std::string_view text) {
  if (strings::trim(text).empty()) return json::Value::object();
  Result<json::Value> value = json::parse(text);
  if (!value) return fail(value.error());
  if (value->is_null()) return json::Value::object();
  if (!value->is_object())
    return fail(Code::kInvalidArgument, "expected a JSON object, given {}", value->type_name());
  return value;
}

Result<> check_arguments(const ToolInfo& tool, json::Value& arguments) {
  if (!arguments.is_object())
    return fail(Code::kUnprocessable, "expected a JSON object, given {}", arguments.type_name());
  if (contains_nul(arguments))
    return fail(Code::kUnprocessable, "a string holds the character U+0000, which no tool takes");
  drop_empty_optionals(tool.parameters, arguments);
  schema::apply_defaults(tool.parameters, arguments);
  return schema::validate(tool.parameters, arguments);
}

}  // namespace chela::tools
