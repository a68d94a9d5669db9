#include "tools/builtin/dir_lister.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "os/beneath.h"

namespace chela::tools {
namespace {

constexpr auto kSkipped =
    std::to_array<std::string_view>({".git", "node_modules", "target", "__pycache__", "venv", ".venv"});

std::string size_text(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / (1024 * 1024));
}

// Control characters of a name would break the lines.
std::string shown(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      '?');
  return name;
}

class Lister {
 public:
  Lister(const std::string& root, std::stop_token stop) : root_(root), stop_(std::move(stop)) {}

  // `prefix` is what the lines show before a name.
  Result<> add(const std::string& path, const std::string& prefix, int depth) {
    if (stop_.stop_requested()) return fail(Code::kCancelled, "listing was cancelled");
    Result<std::vector<os::DirEntry>> entries = os::list_beneath(root_, path, kMaxDirEntries + 1);
    if (!entries) return fail(entries.error());
    std::sort(entries->begin(), entries->end(), [](const os::DirEntry& a, const os::DirEntry& b) {
      return std::pair(a.kind != os::EntryKind::kDirectory, std::string_view(a.name)) <
             std::pair(b.kind != os::EntryKind::kDirectory, std::string_view(b.name));
    });
    for (const os::DirEntry& entry : *entries) {
      if (count_ == kMaxDirEntries) {
        cut_ = true;
        return {};
      }
      ++count_;
      text_ += line(prefix, entry);
      const bool enter = entry.kind == os::EntryKind::kDirectory && depth > 1 &&
                         std::find(kSkipped.begin(), kSkipped.end(), entry.name) == kSkipped.end();
      if (!enter) continue;
      if (const Result<> inner = add(path + "/" + entry.name, prefix + shown(entry.name) + "/", depth - 1);
          !inner) {
        if (inner.error().code == Code::kCancelled) return inner;
        text_ +=
            fmt::format("{}{}/ cannot be listed: {}\n", prefix, shown(entry.name), inner.error().message);
      }
    }
    return {};
  }

  std::string take(const std::string& path) {
    if (count_ == 0) return fmt::format("[{} is empty]", path == "." ? "the workspace" : path);
    if (cut_)
      text_ += fmt::format("[only the first {} entries are shown; list a directory below]\n", kMaxDirEntries);
    text_.pop_back();
    return std::move(text_);
  }

 private:
  static std::string line(const std::string& prefix, const os::DirEntry& entry) {
    const std::string name = prefix + shown(entry.name);
    switch (entry.kind) {
      case os::EntryKind::kDirectory:
        return name + "/\n";
      case os::EntryKind::kLink:
        return name + "@\n";
      case os::EntryKind::kFile:
        return fmt::format("{} ({})\n", name, size_text(entry.size));
      case os::EntryKind::kOther:
        return name + " (no regular file)\n";
    }
    return name + "\n";
  }

  const std::string& root_;
  const std::stop_token stop_;
  std::string text_;
  std::size_t count_ = 0;
  bool cut_ = false;
};

}  // namespace

Result<std::string> list_tree(const std::string& root, const std::string& path, int depth,
                              std::stop_token stop) {
  Lister lister(root, std::move(stop));
  if (const Result<> listed = lister.add(path, "", depth); !listed) return fail(listed.error());
  return lister.take(path);
}

}  // namespace chela::tools
