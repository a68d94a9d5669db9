#include "llm/decorators/strict_schema.h"

#include <algorithm>
#include <array>

#include "base/limits.h"

namespace chela::llm {
namespace {

constexpr std::array<std::string_view, 5> kSchemaLists{"anyOf", "oneOf", "allOf", "prefixItems", "items"};
constexpr std::array<std::string_view, 5> kSchemas{"items", "not", "if", "then", "else"};
constexpr std::array<std::string_view, 2> kSchemaTables{"$defs", "definitions"};

bool is_null_type(const json::Value& value) {
  return value.as_string() != nullptr && *value.as_string() == "null";
}

// Whether null is a value of the schema, as far as type, enum and anyOf say.
bool takes_null(const json::Value& schema) {
  if (schema.as_bool()) return *schema.as_bool();
  if (!schema.is_object() || schema.as_object()->empty()) return true;
  if (const json::Value* type = schema.find("type")) {
    const json::Array* types = type->as_array();
    if (types == nullptr ? !is_null_type(*type) : std::ranges::none_of(*types, is_null_type)) return false;
  }
  if (const json::Value* values = schema.find("enum"); values != nullptr && values->as_array() != nullptr) {
    if (std::ranges::none_of(*values->as_array(), [](const json::Value& each) { return each.is_null(); }))
      return false;
  }
  if (const json::Value* fixed = schema.find("const"); fixed != nullptr && !fixed->is_null()) return false;
  for (const std::string_view key : {std::string_view("anyOf"), std::string_view("oneOf")}) {
    const json::Value* list = schema.find(key);
    if (list != nullptr && list->as_array() != nullptr && std::ranges::none_of(*list->as_array(), takes_null))
      return false;
  }
  return schema.find("$ref") == nullptr && schema.find("allOf") == nullptr;
}

json::Value nullable(json::Value schema) {
  if (takes_null(schema)) return schema;
  json::Value* type = schema.find("type");
  const bool plain = type != nullptr && schema.find("const") == nullptr && schema.find("anyOf") == nullptr &&
                     schema.find("oneOf") == nullptr && schema.find("allOf") == nullptr;
  if (!plain) {
    return json::Value::object(
        {{"anyOf", json::Value::array({std::move(schema), json::Value::object({{"type", "null"}})})}});
  }
  if (json::Array* types = type->as_array()) {
    if (std::ranges::none_of(*types, is_null_type)) types->emplace_back("null");
  } else if (!is_null_type(*type)) {
    *type = json::Value::array({*type, "null"});
  }
  if (json::Value* values = schema.find("enum"); values != nullptr && values->as_array() != nullptr) {
    const auto is_null = [](const json::Value& each) { return each.is_null(); };
    if (std::ranges::none_of(*values->as_array(), is_null)) values->push_back(nullptr);
  }
  return schema;
}

std::vector<std::string> required_of(const json::Value& schema) {
  std::vector<std::string> names;
  const json::Value* required = schema.find("required");
  if (required == nullptr || required->as_array() == nullptr) return names;
  for (const json::Value& each : *required->as_array()) {
    if (each.as_string() != nullptr) names.push_back(*each.as_string());
  }
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

json::Value strict_at(const json::Value& schema, size_t depth);

void close_object(json::Value& out, const json::Value& schema, size_t depth) {
  const json::Value* properties = schema.find("properties");
  if (properties == nullptr || properties->as_object() == nullptr || properties->as_object()->empty()) return;
  const std::vector<std::string> required = required_of(schema);
  json::Value closed = json::Value::object();
  std::vector<std::string> names;
  for (const json::Member& each : *properties->as_object()) {
    json::Value inner = strict_at(each.value, depth);
    closed.set(each.key, contains(required, each.key) ? std::move(inner) : nullable(std::move(inner)));
    names.push_back(each.key);
  }
  std::ranges::sort(names);
  json::Value all = json::Value::array();
  for (std::string& name : names) all.push_back(std::move(name));
  out.set("properties", std::move(closed));
  out.set("required", std::move(all));
  out.set("additionalProperties", false);
}

json::Value strict_at(const json::Value& schema, size_t depth) {
  if (!schema.is_object() || depth == 0) return schema;
  json::Value out = schema;
  close_object(out, schema, depth - 1);
  for (const std::string_view key : kSchemas) {
    json::Value* inner = out.find(key);
    if (inner != nullptr && inner->is_object()) *inner = strict_at(*inner, depth - 1);
  }
  for (const std::string_view key : kSchemaLists) {
    json::Value* list = out.find(key);
    if (list == nullptr || list->as_array() == nullptr) continue;
    for (json::Value& each : *list->as_array()) each = strict_at(each, depth - 1);
  }
  for (const std::string_view key : kSchemaTables) {
    json::Value* table = out.find(key);
    if (table == nullptr || table->as_object() == nullptr) continue;
    for (json::Member& each : *table->as_object()) each.value = strict_at(each.value, depth - 1);
  }
  return out;
}

json::Value plain_at(const json::Value& value, const json::Value& schema, size_t depth) {
  if (depth == 0 || !schema.is_object()) return value;
  if (const json::Array* items = value.as_array()) {
    const json::Value* each_schema = schema.find("items");
    if (each_schema == nullptr) return value;
    json::Value out = json::Value::array();
    for (const json::Value& each : *items) out.push_back(plain_at(each, *each_schema, depth - 1));
    return out;
  }
  const json::Value* properties = schema.find("properties");
  if (!value.is_object() || properties == nullptr) return value;
  const std::vector<std::string> required = required_of(schema);
  json::Value out = json::Value::object();
  for (const json::Member& each : *value.as_object()) {
    const json::Value* inner = properties->find(each.key);
    if (inner != nullptr && each.value.is_null() && !contains(required, each.key) && !takes_null(*inner))
      continue;
    out.set(each.key, inner != nullptr ? plain_at(each.value, *inner, depth - 1) : each.value);
  }
  return out;
}

}  // namespace

json::Value strict_schema(const json::Value& schema) { return strict_at(schema, kMaxSchemaDepth); }

json::Value without_fillers(const json::Value& value, const json::Value& schema) {
  return plain_at(value, schema, kMaxSchemaDepth);
}

}  // namespace chela::llm
