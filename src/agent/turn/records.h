#pragma once

#include <span>

#include <string>
#include <string_view>

#include "agent/turn/state.h"
#include "base/json.h"
#include "base/result.h"

namespace chela::agent::turn {

// The record kind of an input: "TurnStarted", ...
std::string_view kind_of(const Input& input);

// Every kind, in the order of Input's alternatives.
std::span<const std::string_view> all_kinds();

// The body of a record: one JSON object with the version "v" first.
std::string to_body(const Input& input);

// Reads a body of any version written so far. kUnsupported for a newer one or an unknown kind.
Result<Input> from_body(std::string_view kind, std::string_view body);

}  // namespace chela::agent::turn
