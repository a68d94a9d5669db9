#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::config {

// The text with `key` ("llm.model") set to a text value: in its place when it is there, else in its section, else in a new section at the
// end. Everything else, comments and keys that nobody knows among it, stays byte for byte. kInvalidArgument when the text is no TOML, or
// is written so that the key cannot be set without touching more (then a person has to).
Result<std::string> set_toml_text(std::string_view text, std::string_view key, std::string_view value,
                                  std::string_view path);

}  // namespace chela::config
