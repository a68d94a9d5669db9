#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

// JSON Schema, the part that tools and operations use: type (one or a list), properties, required, additionalProperties, items, enum,
// const, minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, anyOf, oneOf, allOf, default. Other keywords are
// notes for readers and are passed over. Lengths count code points.
namespace chela::schema {

// kUnprocessable names every fault of the value, up to kMaxSchemaFaults: where (JSON pointer), what was expected, what was given. The text
// is for the caller, a model included, to correct itself. A schema nested deeper than kMaxSchemaDepth or with a wrong pattern
// is kInvalidArgument.
Result<> validate(const json::Value& schema, const json::Value& value);

// Sets missing properties that have a default, in nested objects too.
void apply_defaults(const json::Value& schema, json::Value& value);

// A value for the schema's type from text, as paths, queries and command lines carry it: "5" becomes 5 for an integer, "true"
// a bool, JSON text an object or array. Text that does not fit stays text; validate() then says what is wrong.
json::Value coerce(const json::Value& schema, std::string_view text);

// The schema is usable: kInvalidArgument says what is not. For schemas that come from outside.
Result<> check_schema(const json::Value& schema);

}  // namespace chela::schema
