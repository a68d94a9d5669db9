// A tool as a request offers it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace chela::infer {

struct ToolSpec {
  std::string name;
  std::string description;
  json::Value parameters;  // a JSON Schema of type object, or null

  // The schema of a parameter; nullptr when it has none of that name.
  const json::Value* property(std::string_view key) const;
  std::vector<std::string> required() const;
  std::vector<std::string> property_names() const;
};

// True when the tool has the name and the parameters of one of Chela's own: then there are examples and rules for it. A client's
// tool that only shares the name is matched by its description like any other.
bool is_known(const ToolSpec& tool);

}  // namespace chela::infer
