#include "memory/documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace chela::memory {
namespace {

constexpr auto kProtected = std::to_array<std::string_view>({"agents", "soul", "user", "identity"});
constexpr auto kInstructions = std::to_array<std::string_view>({kHeartbeat, "README.md"});

}  // namespace

std::vector<std::string> identity_names() {
  std::vector<std::string> names;
  for (const IdentityDocument& document : kIdentityDocuments) names.emplace_back(document.path);
  return names;
}

bool is_protected(std::string_view path) {
  std::string name = strings::lower(path);
  if (name.ends_with(".md")) name.resize(name.size() - 3);
  return std::find(kProtected.begin(), kProtected.end(), strings::trim(name)) != kProtected.end();
}

bool is_memory(std::string_view path) {
  return std::none_of(kIdentityDocuments.begin(), kIdentityDocuments.end(),
                      [path](const IdentityDocument& d) { return d.path == path; }) &&
         std::find(kInstructions.begin(), kInstructions.end(), path) == kInstructions.end();
}

std::string daily_log_path(UnixMs now) {
  const CivilTime day = to_civil(now);
  return fmt::format("daily/{:04}-{:02}-{:02}.md", day.year, day.month, day.day);
}

std::string resolve_target(std::string_view target, UnixMs now) {
  if (target == "memory") return std::string(kLongTermMemory);
  if (target == "heartbeat") return std::string(kHeartbeat);
  if (target == "bootstrap") return std::string(kBootstrap);
  if (target == "daily_log") return daily_log_path(now);
  return std::string(target);
}

}  // namespace chela::memory
