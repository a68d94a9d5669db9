#include "security/vault.h"

#include "base/limits.h"
#include "base/utf8.h"

namespace chela::security {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

Result<> check_secret_name(std::string_view name) {
  bool good = !name.empty() && name.size() <= kMaxSecretNameBytes && is_word(name.front());
  for (const char c : name) good = good && (is_word(c) || c == '-' || c == '.' || c == ':');
  if (good) return {};
  return fail(Code::kInvalidArgument,
              "a secret's name has 1 to {} letters, digits, '_', '-', '.' or ':' and begins with a letter, "
              "digit or '_'",
              kMaxSecretNameBytes);
}

Result<> check_secret_value(std::string_view value) {
  if (value.empty()) return fail(Code::kInvalidArgument, "a secret's value is not empty");
  if (value.size() > kMaxSecretBytes)
    return fail(Code::kTooLarge, "a secret's value has at most {} bytes", kMaxSecretBytes);
  if (value.find('\0') != std::string_view::npos || !utf8::valid(value))
    return fail(Code::kInvalidArgument, "a secret's value is UTF-8 text without NUL");
  return {};
}

}  // namespace chela::security
