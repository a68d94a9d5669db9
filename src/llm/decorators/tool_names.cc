#include "llm/decorators/tool_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/strings.h"

namespace chela::llm {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::string written_plainly(std::string name) {
  name = strings::replace_all(std::move(name), "::", "__");
  for (char& c : name) c = is_plain(c) ? c : '_';
  return name.empty() ? "_" : name;
}

// FNV-1a: the same in every build, for names must not change between turns.
std::uint32_t hash_of(std::string_view text, std::uint32_t salt) {
  std::uint32_t hash = 2166136261U ^ salt;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string with_hash(const std::string& name, std::uint32_t salt) {
  const std::string end = fmt::format("_{:08x}", hash_of(name, salt));
  return written_plainly(name).substr(0, kMaxPlainToolName - end.size()) + end;
}

}  // namespace

PlainToolNames::PlainToolNames(const std::vector<ToolSpec>& tools) {
  std::vector<std::string> changed;
  std::map<std::string, int> wanted;  // by how many of them
  for (const ToolSpec& tool : tools) {
    std::string plain = written_plainly(tool.name);
    if (plain == tool.name && plain.size() <= kMaxPlainToolName) {
      plain_[tool.name] = own_[tool.name] = tool.name;
    } else {
      ++wanted[plain];
      changed.push_back(tool.name);
    }
  }
  std::ranges::sort(changed);
  changed.erase(std::ranges::unique(changed).begin(), changed.end());
  for (const std::string& name : changed) {
    std::string plain = written_plainly(name);
    const bool taken = plain.size() > kMaxPlainToolName || own_.contains(plain) || wanted[plain] > 1;
    if (taken) plain = with_hash(name, 0);
    for (std::uint32_t salt = 1; own_.contains(plain); ++salt) plain = with_hash(name, salt);
    plain_[name] = plain;
    own_[plain] = name;
  }
}

std::string PlainToolNames::plain(const std::string& name) const {
  const auto found = plain_.find(name);
  if (found != plain_.end()) return found->second;
  return name.size() > kMaxPlainToolName ? with_hash(name, 0) : written_plainly(name);
}

std::string PlainToolNames::own(const std::string& plain) const {
  const auto found = own_.find(plain);
  return found != own_.end() ? found->second : plain;
}

}  // namespace chela::llm
