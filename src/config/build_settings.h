#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"

namespace chela::config {

// A key's value: its text, and whether anything but the default gave it.
struct Value {
  std::string text;
  bool given = false;
  bool operator==(const Value&) const = default;
};
using Lookup = std::function<Value(std::string_view name)>;

// The backend that a value of llm.backend names; nothing when there is none of that name.
std::optional<LlmBackend> backend_named(std::string_view text);

// The typed settings from checked values. kUnsupported for a backend that there is none of.
Result<Settings> build_settings(const Lookup& value);

}  // namespace chela::config
