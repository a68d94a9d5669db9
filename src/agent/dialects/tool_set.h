#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/strings.h"

namespace chela::agent::dialects {

// A call as a model wrote it: a tool that is known, and arguments that the format could carry.
struct Call {
  std::string name;
  json::Value arguments = json::Value::object();
  std::string id = {};  // "" = none was written
};

// A tool that may be called.
struct Tool {
  std::string name;
  json::Shared parameters = {};  // JSON Schema of an object, or null
};

// The tools that are known, and what their schemas say about text that carries no types. Immutable; copies share it.
class ToolSet {
 public:
  ToolSet() = default;
  explicit ToolSet(std::vector<Tool> tools);

  bool empty() const { return tools_->empty(); }
  // The tool of exactly this name; nullptr when there is none.
  const Tool* find(std::string_view name) const;
  // Also by another name that models use for it ("bash" for "shell"). A known name is never taken for another.
  const Tool* find_alias(std::string_view name) const;
  // Whether any of these names begins so.
  bool begins_name(std::string_view beginning) const;

 private:
  using Map = std::unordered_map<std::string, Tool, strings::Hash, std::equal_to<>>;
  std::shared_ptr<const Map> tools_ = std::make_shared<const Map>();
  std::shared_ptr<const std::vector<std::string>> names_ =
      std::make_shared<const std::vector<std::string>>();  // sorted
};

// The schema of a property; nullptr when the tool declares none of this name.
const json::Value* property(const Tool& tool, std::string_view name);

// Whether the tool says which properties it has.
bool declares_properties(const Tool& tool);

// A value of the type that the schema wants, from text. An undeclared property is a string, a number or a boolean.
json::Value typed(const Tool& tool, std::string_view name, std::string_view text);

// The parameter that a lone value is for: of well-known tools by their name, else the one that the schema requires, else `input`.
std::string default_parameter(const Tool& tool);

// Arguments from a lone text: {fallback: text}, unless the schema has no such property and requires exactly one other.
json::Value lone_argument(const Tool& tool, std::string_view fallback, std::string_view text);

}  // namespace chela::agent::dialects
