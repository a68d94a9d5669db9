#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/provider.h"
#include "tools/tool.h"

namespace chela::tools {

// Whether calls can be checked against them: kInvalidArgument when they are no usable schema of an object.
Result<> check_parameters(std::string_view name, const json::Value& parameters);

// Tools that come and go while the engine runs, each user's own. Owned by app/; loop thread only.
class ToolSource {
 public:
  virtual ~ToolSource() = default;
  // What the user of the scope has, in the order of names, each name once. Valid until the next call; the tools are usable as
  // Registry::add() wants them.
  virtual const std::vector<ToolPtr>& tools(const Scope& scope) = 0;
  // Changes whenever a tool of anybody has come, gone or changed.
  virtual std::uint64_t revision() const = 0;
};

// The tools of one engine, by name: those that are always there, which it owns, and those of its sources, which belong to users. Filled
// by app/. Loop thread only.
// Every listing is in the order of names: what a model is shown must be the same bytes from turn to turn.
class Registry {
 public:
  // `group` is what the permission tools:<group> names. kInvalidArgument: the name is no [A-Za-z0-9_.:-]{1,64} or the parameters are
  // no usable schema of an object; kConflict: the name is taken by a tool or an alias.
  Result<> add(std::unique_ptr<Tool> tool, std::string group);

  // A second name, resolved before any policy looks at the call. kNotFound: no such tool.
  Result<> add_alias(std::string alias, std::string_view name);

  // A source whose tools are offered beside the others, under one group. A name that is taken by a tool, an alias or an earlier source
  // stays theirs. The source outlives all uses of the registry.
  void add_source(ToolSource& source, std::string group);

  // Whether a tool that is always there, or an alias, has the name.
  bool taken(std::string_view name) const;

  // By own name or alias, of those that the user of the scope has; nullptr when there is none.
  ToolPtr find(const Scope& scope, std::string_view name) const;
  // "" when there is no such tool.
  std::string_view group(const Scope& scope, std::string_view name) const;
  // All that tools may be in, also where no tool is in it yet.
  std::set<std::string, std::less<>> groups() const;
  // Whether the user of the scope has tools that others may not have.
  bool has_own(const Scope& scope) const;

  // Whether a pattern ("*", "memory_*", "time") allows the own name.
  static bool allows(const std::vector<std::string>& patterns, std::string_view name);

  // Changes with every tool or alias that comes, changes or goes.
  std::uint64_t revision() const;

  // Own names and specs of the tools of a user that a pattern allows.
  std::vector<std::string> names(const Scope& scope, const std::vector<std::string>& patterns) const;
  std::vector<llm::ToolSpec> specs(const Scope& scope, const std::vector<std::string>& patterns) const;

 private:
  struct Entry {
    ToolPtr tool;
    std::string group;
  };
  struct Source {
    ToolSource* source;
    std::string group;
  };
  struct Found {
    ToolPtr tool = {};
    std::string_view group = {};
  };
  Found entry(const Scope& scope, std::string_view name) const;
  // All that the user has, by name.
  std::map<std::string_view, ToolPtr> all(const Scope& scope) const;

  std::map<std::string, Entry, std::less<>> tools_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::vector<Source> sources_;
};

}  // namespace chela::tools
