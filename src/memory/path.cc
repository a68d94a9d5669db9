#include "memory/path.h"

#include <algorithm>

#include "base/strings.h"
#include "base/utf8.h"

namespace chela::memory {
namespace {

constexpr std::size_t kMaxShownBytes = 80;

Failure refused(std::string_view path, std::string_view why) {
  return fail(Code::kInvalidArgument, "'{}' is no path of a document: {}",
              utf8::sanitize(path.substr(0, kMaxShownBytes)), why);
}

bool has_bad_character(std::string_view path) {
  return std::any_of(path.begin(), path.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\'; });
}

}  // namespace

Result<std::string> normalise_folder(std::string_view path) {
  path = strings::trim(path);
  if (path.size() > kMaxPathBytes)
    return refused(path, fmt::format("it is longer than {} bytes", kMaxPathBytes));
  if (!utf8::valid(path)) return refused(path, "it is no valid UTF-8");
  if (has_bad_character(path)) return refused(path, "it has control characters or a backslash");
  std::string out;
  std::size_t depth = 0;
  for (const std::string_view part : strings::split(path, '/')) {
    const std::string_view name = strings::trim(part);
    if (name.empty() || name == ".") continue;
    if (name == "..") return refused(path, "it must not have '..'");
    if (++depth > kMaxPathDepth)
      return refused(path, fmt::format("it is nested more than {} deep", kMaxPathDepth));
    if (!out.empty()) out += '/';
    out += name;
  }
  return out;
}

Result<std::string> normalise_path(std::string_view path) {
  Result<std::string> out = normalise_folder(path);
  if (out && out->empty()) return refused(path, "name a document, for example notes/ideas.md");
  return out;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace chela::memory
