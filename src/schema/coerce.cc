#include <set>

#include "base/limits.h"
#include "schema/schema.h"

namespace chela::schema {
namespace {

using json::Value;

// The types that a schema admits; none named means any.
void gather_types(const Value& schema, std::set<std::string, std::less<>>& types, int depth) {
  if (depth > kMaxSchemaDepth) return;
  if (const Value* type = schema.find("type")) {
    if (const std::string* one = type->as_string()) types.insert(*one);
    if (const json::Array* many = type->as_array()) {
      for (const Value& each : *many) {
        if (const std::string* name = each.as_string()) types.insert(*name);
      }
    }
    return;
  }
  if (const Value* choices = schema.find("enum"); choices && choices->is_array()) {
    for (const Value& each : *choices->as_array()) types.emplace(each.type_name());
    return;
  }
  if (const Value* only = schema.find("const")) {
    types.emplace(only->type_name());
    return;
  }
  for (const std::string_view keyword : {"anyOf", "oneOf", "allOf"}) {
    const Value* list = schema.find(keyword);
    if (!list || !list->is_array()) continue;
    for (const Value& each : *list->as_array()) gather_types(each, types, depth + 1);
  }
}

void apply(const Value& schema, Value& value, int depth) {
  if (depth > kMaxSchemaDepth) return;
  if (json::Array* items = value.as_array()) {
    if (const Value* each = schema.find("items")) {
      for (Value& item : *items) apply(*each, item, depth + 1);
    }
    return;
  }
  json::Object* object = value.as_object();
  const Value* known = schema.find("properties");
  if (!object || !known || !known->is_object()) return;
  for (const json::Member& property : *known->as_object()) {
    Value* present = object->find(property.key);
    if (!present) {
      if (const Value* fallback = property.value.find("default"))
        present = &object->set(property.key, *fallback);
    }
    if (present) apply(property.value, *present, depth + 1);
  }
}

Value coerce_at(const Value& schema, std::string_view text, int depth) {
  std::set<std::string, std::less<>> types;
  gather_types(schema, types, depth);
  if (types.empty() || types.contains("string") || depth > kMaxSchemaDepth) return Value(text);
  if (types.contains("boolean")) {
    if (text == "true" || text == "1") return Value(true);
    if (text == "false" || text == "0") return Value(false);
  }
  if (Result<Value> parsed = json::parse(text)) {
    if ((types.contains("integer") || types.contains("number")) && parsed->is_number())
      return std::move(*parsed);
    if (types.contains(parsed->type_name())) return std::move(*parsed);
  }
  if (types.contains("array") && !text.starts_with('[')) {  // else it is a list that was broken
    const Value* items = schema.find("items");
    return Value::array({items ? coerce_at(*items, text, depth + 1) : Value(text)});
  }
  return Value(text);
}

}  // namespace

void apply_defaults(const Value& schema, Value& value) { apply(schema, value, 0); }

Value coerce(const Value& schema, std::string_view text) { return coerce_at(schema, text, 0); }

}  // namespace chela::schema
