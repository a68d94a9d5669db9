#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/provider.h"
#include "tools/tool.h"

namespace chela::tools {

// The tools of one engine, by name. Filled by app/ and by parts that add tools at run time; owns the tools. Loop thread only.
// Every listing is in the order of names: what a model is shown must be the same bytes from turn to turn.
class Registry {
 public:
  // `group` is what the permission tools:<group> names. kInvalidArgument: the name is no [A-Za-z0-9_.:-]{1,64} or the parameters are
  // no usable schema of an object; kConflict: the name is taken by a tool or an alias.
  Result<> add(std::unique_ptr<Tool> tool, std::string group);

  // A second name, resolved before any policy looks at the call. kNotFound: no such tool.
  Result<> add_alias(std::string alias, std::string_view name);

  // By own name or alias; nullptr when there is none.
  Tool* find(std::string_view name) const;
  // "" when there is no such tool.
  std::string_view group(std::string_view name) const;

  // Whether a pattern ("*", "memory_*", "time") allows the own name.
  static bool allows(const std::vector<std::string>& patterns, std::string_view name);

  // Own names and specs of the tools that a pattern allows.
  std::vector<std::string> names(const std::vector<std::string>& patterns) const;
  std::vector<llm::ToolSpec> specs(const std::vector<std::string>& patterns) const;

 private:
  struct Entry {
    std::unique_ptr<Tool> tool;
    std::string group;
  };
  const Entry* entry(std::string_view name) const;
  bool taken(std::string_view name) const;

  std::map<std::string, Entry, std::less<>> tools_;
  std::map<std::string, std::string, std::less<>> aliases_;
};

}  // namespace chela::tools
