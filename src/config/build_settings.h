#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"

namespace chela::config {

// A key's value: its text, whether anything but the default gave it, and whether that was the settings table.
struct Value {
  std::string text;
  bool given = false;
  bool stored = false;
  bool operator==(const Value&) const = default;
};
using Lookup = std::function<Value(std::string_view name)>;

// The backend that a value of llm.backend names, and of kProvider which one; nothing for "".
struct NamedBackend {
  LlmBackend backend = LlmBackend::kLocal;
  std::string provider = {};
  bool operator==(const NamedBackend&) const = default;
};
std::optional<NamedBackend> backend_named(std::string_view text);

// The typed settings from checked values. Whether there is a provider of the backend's name only its file says.
Result<Settings> build_settings(const Lookup& value);

}  // namespace chela::config
