#include "api/permissions.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/strings.h"

namespace chela::api {
namespace {

constexpr std::array<std::string_view, 14> kWords{
    "*",          "admin",       "bus:call",     "bus:delegate",  "bus:register",   "chat:read",
    "chat:write", "memory:read", "memory:write", "settings:read", "settings:write", "system:read",
    "tools:*",    "tools:bus"};  // the last: of workers, also while there is no bus
// What follows is the name of something: of a function, of a variable.
constexpr std::array<std::string_view, 2> kOfNames{"bus:env:", "bus:replace:"};

bool is_word(std::string_view text) { return std::find(kWords.begin(), kWords.end(), text) != kWords.end(); }

bool starts_one(std::string_view prefix) {
  const auto begins = [prefix](std::string_view word) { return word.starts_with(prefix); };
  return std::any_of(kWords.begin(), kWords.end(), begins) ||
         std::any_of(kOfNames.begin(), kOfNames.end(), begins);
}

}  // namespace

Result<> check_permission(std::string_view permission, const ToolGroups& tool_groups) {
  if (is_word(permission)) return {};
  if (permission.ends_with(":*") && starts_one(permission.substr(0, permission.size() - 1))) return {};
  for (const std::string_view each : kOfNames) {
    if (permission.starts_with(each) && permission.size() > each.size()) return {};
  }
  constexpr std::string_view kTools = "tools:";
  if (permission.starts_with(kTools) && tool_groups.contains(permission.substr(kTools.size()))) return {};
  std::vector<std::string> known(kWords.begin(), kWords.end());
  for (const std::string& group : tool_groups) {
    if (std::string permission_of = fmt::format("{}{}", kTools, group); !is_word(permission_of))
      known.push_back(std::move(permission_of));
  }
  for (const std::string_view each : kOfNames) known.push_back(fmt::format("{}<name>", each));
  return fail(Code::kInvalidArgument,
              "there is no permission '{}'; there are {}, and a group with :* (chat:*) for all of it",
              permission, strings::join(known, ", "));
}

}  // namespace chela::api
