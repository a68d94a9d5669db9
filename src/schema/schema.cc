#include "schema/schema.h"

#include <algorithm>

#include "base/limits.h"
#include "base/regex.h"
#include "base/utf8.h"

namespace chela::schema {
namespace {

using json::Value;

constexpr size_t kMaxShownBytes = 80;  // of a value in a message

bool has_type(const Value& value, std::string_view type) {
  if (type == "integer") return value.is_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return type == "null" && value.is_null();
}

bool known_type(std::string_view type) {
  for (const std::string_view known : {"integer", "number", "string", "boolean", "array", "object", "null"}) {
    if (type == known) return true;
  }
  return false;
}

std::string show(const Value& value) {
  const std::string text = json::write(value);
  if (text.size() <= kMaxShownBytes) return fmt::format("{} {}", value.type_name(), text);
  return fmt::format("{} {}...", value.type_name(), utf8::prefix(text, kMaxShownBytes));
}

std::string type_list(const Value& type) {
  if (const std::string* one = type.as_string()) return *one;
  std::string text;
  if (const json::Array* many = type.as_array()) {
    for (const Value& each : *many) {
      if (const std::string* name = each.as_string()) text += (text.empty() ? "" : " or ") + *name;
    }
  }
  return text;
}

// A property's name as a step of a JSON pointer (RFC 6901).
std::string pointer_step(std::string_view key) {
  std::string step = "/";
  for (const char c : key) {
    if (c == '~')
      step += "~0";
    else if (c == '/')
      step += "~1";
    else
      step += c;
  }
  return step;
}

// Walks value and schema together and gathers what does not fit.
class Validator {
 public:
  std::vector<std::string> faults;
  std::optional<Error> broken_schema;

  void check(const Value& schema, const Value& value, const std::string& at, int depth) {
    if (broken_schema || faults.size() >= kMaxSchemaFaults) return;
    if (depth > kMaxSchemaDepth) {
      broken_schema = Error{.code = Code::kInvalidArgument,
                            .message = fmt::format("the schema is nested deeper than {}", kMaxSchemaDepth)};
      return;
    }
    if (schema.as_bool() == false) return fault(at, "nothing is allowed here");
    if (!schema.is_object()) return;  // true, or no schema: anything goes
    if (!check_type(schema, value, at)) return;
    check_choices(schema, value, at);
    check_number(schema, value, at);
    check_string(schema, value, at);
    check_array(schema, value, at, depth);
    check_object(schema, value, at, depth);
    check_combined(schema, value, at, depth);
  }

 private:
  void fault(const std::string& at, std::string_view what) {
    if (faults.size() < kMaxSchemaFaults)
      faults.push_back(fmt::format("{}: {}", at.empty() ? "the value" : at, what));
  }

  bool check_type(const Value& schema, const Value& value, const std::string& at) {
    const Value* type = schema.find("type");
    if (!type) return true;
    bool fits = false;
    if (const std::string* one = type->as_string()) {
      fits = has_type(value, *one);
    } else if (const json::Array* many = type->as_array()) {
      for (const Value& each : *many) fits = fits || (each.is_string() && has_type(value, *each.as_string()));
    }
    if (!fits) fault(at, fmt::format("expected {}, given {}", type_list(*type), show(value)));
    return fits;
  }

  void check_choices(const Value& schema, const Value& value, const std::string& at) {
    if (const Value* only = schema.find("const"); only && !(*only == value)) {
      fault(at, fmt::format("expected {}, given {}", json::write(*only), show(value)));
    }
    const Value* choices = schema.find("enum");
    const json::Array* list = choices ? choices->as_array() : nullptr;
    if (!list || std::find(list->begin(), list->end(), value) != list->end()) return;
    fault(at, fmt::format("expected one of {}, given {}", json::write(*choices), show(value)));
  }

  void check_number(const Value& schema, const Value& value, const std::string& at) {
    const std::optional<double> number = value.as_double();
    if (!value.is_number() || !number) return;
    const Value* low = schema.find("minimum");
    const Value* high = schema.find("maximum");
    if (low && *number < low->as_double().value_or(*number)) {
      fault(at, fmt::format("expected at least {}, given {}", json::write(*low), json::write(value)));
    }
    if (high && *number > high->as_double().value_or(*number)) {
      fault(at, fmt::format("expected at most {}, given {}", json::write(*high), json::write(value)));
    }
  }

  // The bounds of a length; `unit` names what is counted.
  void check_length(const Value& schema, std::string_view low_key, std::string_view high_key, size_t length,
                    std::string_view unit, const std::string& at) {
    const auto count = static_cast<std::int64_t>(length);
    const std::int64_t low = schema.int_or(low_key, 0);
    const std::int64_t high = schema.int_or(high_key, count);
    if (count < low) fault(at, fmt::format("expected at least {} {}, given {}", low, unit, count));
    if (count > high) fault(at, fmt::format("expected at most {} {}, given {}", high, unit, count));
  }

  void check_string(const Value& schema, const Value& value, const std::string& at) {
    const std::string* text = value.as_string();
    if (!text) return;
    if (schema.find("minLength") || schema.find("maxLength")) {
      check_length(schema, "minLength", "maxLength", utf8::length(*text), "characters", at);
    }
    const Value* pattern = schema.find("pattern");
    if (!pattern || !pattern->is_string()) return;
    const Result<Regex> regex = Regex::create(*pattern->as_string());
    if (!regex) {
      broken_schema = Error{.code = Code::kInvalidArgument,
                            .message = "the schema's pattern is wrong: " + regex.error().message};
    } else if (!regex->found_in(*text)) {
      fault(at, fmt::format("expected text that matches {}, given {}", *pattern->as_string(), show(value)));
    }
  }

  void check_array(const Value& schema, const Value& value, const std::string& at, int depth) {
    const json::Array* items = value.as_array();
    if (!items) return;
    check_length(schema, "minItems", "maxItems", items->size(), "items", at);
    const Value* each = schema.find("items");
    if (!each) return;
    for (size_t i = 0; i < items->size(); ++i)
      check(*each, (*items)[i], fmt::format("{}/{}", at, i), depth + 1);
  }

  void check_object(const Value& schema, const Value& value, const std::string& at, int depth) {
    const json::Object* object = value.as_object();
    if (!object) return;
    const Value* known = schema.find("properties");
    const json::Object* properties = known ? known->as_object() : nullptr;
    check_required(schema, *object, properties, at);
    const Value* rest = schema.find("additionalProperties");
    for (const json::Member& member : *object) {
      const Value* property = properties ? properties->find(member.key) : nullptr;
      if (property) {
        check(*property, member.value, at + pointer_step(member.key), depth + 1);
      } else if (rest && rest->as_bool() == false) {
        fault(at + pointer_step(member.key), "unknown property" + names_of(properties));
      } else if (rest) {
        check(*rest, member.value, at + pointer_step(member.key), depth + 1);
      }
    }
  }

  static std::string names_of(const json::Object* properties) {
    std::string names;
    if (properties) {
      for (const json::Member& member : *properties) names += (names.empty() ? "" : ", ") + member.key;
    }
    return "; there are " + (names.empty() ? "none" : names);
  }

  void check_required(const Value& schema, const json::Object& object, const json::Object* properties,
                      const std::string& at) {
    const Value* required = schema.find("required");
    const json::Array* names = required ? required->as_array() : nullptr;
    if (!names) return;
    for (const Value& each : *names) {
      const std::string* name = each.as_string();
      if (!name || object.find(*name)) continue;
      const Value* property = properties ? properties->find(*name) : nullptr;
      const Value* type = property ? property->find("type") : nullptr;
      fault(at, fmt::format("missing property \"{}\"{}", *name,
                            type ? fmt::format(" ({})", type_list(*type)) : ""));
    }
  }

  void check_combined(const Value& schema, const Value& value, const std::string& at, int depth) {
    if (const Value* all = schema.find("allOf"); all && all->is_array()) {
      for (const Value& each : *all->as_array()) check(each, value, at, depth + 1);
    }
    for (const std::string_view keyword : {"anyOf", "oneOf"}) {
      const Value* list = schema.find(keyword);
      if (!list || !list->is_array()) continue;
      size_t fitting = 0;
      std::string reasons;
      for (const Value& each : *list->as_array()) {
        Validator alternative;
        alternative.check(each, value, at, depth + 1);
        if (alternative.broken_schema) broken_schema = std::move(alternative.broken_schema);
        if (alternative.faults.empty())
          ++fitting;
        else
          reasons += (reasons.empty() ? "" : "; or ") + alternative.faults.front();
      }
      if (broken_schema) return;
      if (fitting == 0)
        fault(at, "fits none of the alternatives (" + reasons + ")");
      else if (fitting > 1 && keyword == "oneOf")
        fault(at, fmt::format("fits {} alternatives, expected exactly one", fitting));
    }
  }
};

Result<> check_node(const Value& schema, int depth) {
  if (depth > kMaxSchemaDepth)
    return fail(Code::kInvalidArgument, "the schema is nested deeper than {}", kMaxSchemaDepth);
  if (schema.is_bool()) return {};
  if (!schema.is_object())
    return fail(Code::kInvalidArgument, "a schema is an object or a boolean, given {}", show(schema));
  if (const Value* type = schema.find("type")) {
    const json::Array one{*type};
    for (const Value& each : type->is_array() ? *type->as_array() : one) {
      if (!each.is_string() || !known_type(*each.as_string())) {
        return fail(Code::kInvalidArgument, "the schema's type {} does not exist", json::write(each));
      }
    }
  }
  if (const Value* pattern = schema.find("pattern"); pattern && pattern->is_string()) {
    const Result<Regex> regex = Regex::create(*pattern->as_string());
    if (!regex)
      return fail(Code::kInvalidArgument, "the schema's pattern is wrong: {}", regex.error().message);
  }
  if (const Value* properties = schema.find("properties")) {
    if (!properties->is_object())
      return fail(Code::kInvalidArgument, "the schema's properties are no object");
    for (const json::Member& member : *properties->as_object()) {
      if (Result<> ok = check_node(member.value, depth + 1); !ok) return ok;
    }
  }
  for (const std::string_view keyword : {"items", "additionalProperties"}) {
    if (const Value* inner = schema.find(keyword)) {
      if (Result<> ok = check_node(*inner, depth + 1); !ok) return ok;
    }
  }
  for (const std::string_view keyword : {"anyOf", "oneOf", "allOf"}) {
    const Value* list = schema.find(keyword);
    if (!list) continue;
    if (!list->is_array() || list->as_array()->empty())
      return fail(Code::kInvalidArgument, "the schema's {} is no list of schemas", keyword);
    for (const Value& each : *list->as_array()) {
      if (Result<> ok = check_node(each, depth + 1); !ok) return ok;
    }
  }
  return {};
}

}  // namespace

Result<> validate(const Value& schema, const Value& value) {
  Validator validator;
  validator.check(schema, value, "", 0);
  if (validator.broken_schema) return fail(std::move(*validator.broken_schema));
  if (validator.faults.empty()) return {};
  std::string message;
  for (const std::string& each : validator.faults) message += (message.empty() ? "" : "; ") + each;
  return fail(Error{.code = Code::kUnprocessable, .message = std::move(message)});
}

Result<> check_schema(const Value& schema) { return check_node(schema, 0); }

}  // namespace chela::schema
