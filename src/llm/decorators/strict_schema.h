#pragma once

#include "base/json.h"

namespace chela::llm {

// A schema as strict providers want it: every object that names properties allows no others and requires all of them, by name sorted.
// What was optional may be null instead. Objects without named properties (maps) stay as they are. Done twice it changes nothing.
json::Value strict_schema(const json::Value& schema);

// What a model wrote by strict_schema(schema) as `schema` itself has it: a null that only says "left out" is left out.
json::Value without_fillers(const json::Value& value, const json::Value& schema);

}  // namespace chela::llm
