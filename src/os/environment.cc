#include "os/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/strings.h"

namespace chela::os {
namespace {

void wipe(char* text, size_t size) {
  // volatile: nobody reads it again, so the compiler would leave the writes out.
  volatile char* byte = text;
  for (size_t i = 0; i < size; ++i) byte[i] = 0;
}

// The block that the kernel shows as /proc/<pid>/environ; setenv() of libraries may have moved variables out of it and left the old
// text behind.
std::pair<char*, size_t> initial_block() {
  std::ifstream file("/proc/self/stat");
  std::stringstream text;
  text << file.rdbuf();
  const std::string stat = text.str();
  const size_t name_end = stat.rfind(") ");  // the program's name may hold anything
  if (name_end == std::string::npos) return {};
  const std::string rest = stat.substr(name_end + 2);
  const std::vector<std::string_view> fields = strings::split(strings::trim(rest), ' ');
  // proc(5): fields 50 and 51 are env_start and env_end; the first one here is number 3.
  if (fields.size() < 49) return {};
  const auto begin = strings::parse_int<std::uintptr_t>(fields[47]);
  const auto end = strings::parse_int<std::uintptr_t>(fields[48]);
  if (!begin || !end || *begin == 0 || *end <= *begin) return {};
  return {reinterpret_cast<char*>(*begin), *end - *begin};
}

bool is_variable(const char* entry, const std::string& name) {
  return std::strncmp(entry, name.c_str(), name.size()) == 0 && entry[name.size()] == '=';
}

}  // namespace

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

void scrub_environment(const std::vector<std::string>& names) {
  const auto [block, size] = initial_block();
  for (const std::string& name : names) {
    for (char** entry = environ; entry && *entry; ++entry) {
      if (is_variable(*entry, name)) wipe(*entry + name.size() + 1, std::strlen(*entry + name.size() + 1));
    }
    for (size_t at = 0; at < size;) {
      const size_t length = ::strnlen(block + at, size - at);
      if (length > name.size() && is_variable(block + at, name))
        wipe(block + at + name.size() + 1, length - name.size() - 1);
      at += length + 1;
    }
    ::unsetenv(name.c_str());
  }
}

std::vector<std::pair<std::string, std::string>> base_environment() {
  std::vector<std::pair<std::string, std::string>> base;
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TERM", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) base.emplace_back(name, value);
  }
  return base;
}

}  // namespace chela::os
