#include "base/utf8.h"
#include "op/registry.h"
#include "schema/schema.h"

namespace chela::op {
namespace {

using json::Value;

const Value& property_of(const Operation& operation, std::string_view name) {
  static const Value kAnything = Value::object();
  const Value* properties = operation.in.find("properties");
  const Value* property = properties ? properties->find(name) : nullptr;
  return property ? *property : kAnything;
}

bool takes_list(const Value& schema) {
  const Value* type = schema.find("type");
  return type && *type == Value("array");
}

Result<> check_text(std::string_view name, std::string_view text) {
  if (utf8::valid(name) && utf8::valid(text)) return {};
  return fail(Code::kInvalidArgument, "the parameter {} is not valid UTF-8", utf8::sanitize(name));
}

}  // namespace

Result<Value> merge_input(const Operation& operation, const Params& path, const Params& query, Value body) {
  if (body.is_null()) body = Value::object();
  if (!body.is_object()) {
    return fail(Code::kInvalidArgument, "the body is a JSON {}; {} expects an object", body.type_name(),
                operation.id);
  }
  for (const Params* each : {&path, &query}) {
    for (const auto& [name, text] : *each) {
      if (Result<> ok = check_text(name, text); !ok) return fail(std::move(ok.error()));
    }
  }
  Value from_query = Value::object();
  for (const auto& [name, text] : query) {
    const Value& schema = property_of(operation, name);
    Value value = schema::coerce(schema, text);
    Value* before = from_query.find(name);
    if (before && takes_list(schema) && before->is_array() && value.is_array()) {
      for (Value& each : *value.as_array()) before->push_back(std::move(each));
    } else {
      from_query.set(name, std::move(value));
    }
  }
  for (json::Member& member : *from_query.as_object()) body.set(member.key, std::move(member.value));
  for (const auto& [name, text] : path) body.set(name, schema::coerce(property_of(operation, name), text));
  return body;
}

}  // namespace chela::op
