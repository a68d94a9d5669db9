#include "tools/builtin/workspaces.h"

#include <fmt/format.h>

#include <string_view>

namespace chela::tools {
namespace {

constexpr std::string_view kDefaultRealm = "default";

std::string file_name(std::string_view id) {
  std::string out;
  for (const char c : id) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '@' || (c == '.' && !out.empty());
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

std::string Workspaces::folder_of(const Scope& scope) const {
  const std::string user = file_name(scope.user);
  return scope.realm == kDefaultRealm ? fmt::format("{}/{}", base_, user)
                                      : fmt::format("{}/{}+{}", base_, file_name(scope.realm), user);
}

}  // namespace chela::tools
