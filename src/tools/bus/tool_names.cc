#include "tools/bus/tool_names.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "bus/functions.h"
#include "crypto/hash.h"
#include "tools/names.h"

namespace chela::tools {
namespace {

constexpr std::string_view kSeparator = "::";
constexpr std::string_view kWritten = "__";
constexpr size_t kHashDigits = 6;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(from)) {
      out += to;
      at += from.size();
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace

std::string tool_name(std::string_view function_id) {
  std::string_view own = function_id;
  if (own.starts_with(bus::kToolPrefix)) own.remove_prefix(bus::kToolPrefix.size());
  std::string name = replaced(own, kSeparator, kWritten);
  bool faithful = !name.empty() && replaced(name, kWritten, kSeparator) == own && name.size() <= kMaxToolName;
  for (char& c : name) {
    if (is_plain(c)) continue;
    c = '_';
    faithful = false;
  }
  if (faithful) return name;
  name.resize(std::min(name.size(), kMaxToolName - kHashDigits - 1));
  return fmt::format("{}_{}", name, crypto::sha256_hex(function_id).substr(0, kHashDigits));
}

}  // namespace chela::tools
