#include "bus/exec/watch.h"

#include <algorithm>
#include <system_error>

#include "base/strings.h"
#include "bus/exec/limits.h"

namespace chela::bus::exec {
namespace {

namespace fs = std::filesystem;
using Parts = std::vector<std::string_view>;

bool name_covers(std::string_view pattern, std::string_view name) {
  size_t star = std::string_view::npos;
  size_t resume = 0;
  size_t p = 0;
  size_t n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == name[n] || pattern[p] == '?')) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Parts parts_of(std::string_view path) {
  Parts parts;
  for (const std::string_view each : strings::split(path, '/')) {
    if (!each.empty() && each != ".") parts.push_back(each);
  }
  return parts;
}

// Row by row: which beginnings of the pattern cover the names so far.
bool covers_all(const Parts& pattern, const Parts& names) {
  std::vector<bool> reached(pattern.size() + 1, false);
  const auto skip_folders = [&] {
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (reached[i] && pattern[i] == "**") reached[i + 1] = true;
    }
  };
  reached[0] = true;
  skip_folders();
  for (const std::string_view name : names) {
    std::vector<bool> next(pattern.size() + 1, false);
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (!reached[i]) continue;
      if (pattern[i] == "**") {
        next[i] = true;
      } else if (name_covers(pattern[i], name)) {
        next[i + 1] = true;
      }
    }
    reached = std::move(next);
    skip_folders();
  }
  return reached.back();
}

// The folder in front of the first part with a wildcard.
fs::path root_of(std::string_view pattern) {
  fs::path root = pattern.starts_with('/') ? "/" : "";
  const Parts parts = parts_of(pattern);
  for (size_t i = 0; i + 1 < parts.size() && parts[i].find_first_of("*?") == std::string_view::npos; ++i)
    root /= parts[i];
  return root;
}

bool is_left_out(const std::string& name) { return name.starts_with('.') || name == "node_modules"; }

}  // namespace

bool covers(std::string_view pattern, std::string_view path) {
  return pattern.starts_with('/') == path.starts_with('/') && covers_all(parts_of(pattern), parts_of(path));
}

Seen look(const fs::path& directory, const std::vector<std::string>& patterns) {
  Seen seen;
  size_t looked = 0;
  for (const std::string& pattern : patterns) {
    const fs::path root = root_of(pattern);
    std::error_code problem;  // what cannot be read is not there
    fs::recursive_directory_iterator at(directory / root, fs::directory_options::skip_permission_denied,
                                        problem);
    for (; !problem && at != fs::recursive_directory_iterator(); at.increment(problem)) {
      if (++looked > kMaxWatchedFiles) return seen;
      std::error_code ignored;
      if (at->is_directory(ignored)) {
        if (is_left_out(at->path().filename().string())) at.disable_recursion_pending();
        continue;
      }
      const std::string path = (root / at->path().lexically_relative(directory / root)).generic_string();
      if (!covers(pattern, path)) continue;
      const fs::file_time_type changed = at->last_write_time(ignored);
      if (!ignored) seen.insert_or_assign(path, changed.time_since_epoch().count());
    }
  }
  return seen;
}

}  // namespace chela::bus::exec
