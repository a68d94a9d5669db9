#include "tui/history.h"

#include <fcntl.h>

#include <cerrno>

#include "base/limits.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "os/file.h"

namespace chela::tui {
namespace {

// The file may have grown to twice the entries before it is shortened, and escaping may double an entry.
constexpr size_t kMaxFileBytes = 4 * kMaxHistoryEntries * kMaxHistoryEntryBytes;
constexpr mode_t kMode = 0600;

std::string escaped(std::string_view entry) {
  std::string out;
  for (const char c : entry) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\')
      out += "\\\\";
    else
      out += c;
  }
  return out + "\n";
}

std::string unescaped(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size())
      out += line[i];
    else
      out += line[++i] == 'n' ? '\n' : line[i];
  }
  return out;
}

}  // namespace

Result<History> History::open(std::string file) {
  History history;
  history.file_ = std::move(file);
  const Result<std::string> text = os::read_file(history.file_, kMaxFileBytes);
  if (!text && text.error().code == Code::kNotFound) return history;
  if (!text) return fail(text.error());
  for (const std::string_view line : strings::split(*text, '\n')) {
    if (line.empty()) continue;
    ++history.lines_;
    history.entries_.push_back(utf8::sanitize(unescaped(line)));
    if (history.entries_.size() > kMaxHistoryEntries) history.entries_.pop_front();
  }
  return history;
}

Result<> History::add(std::string_view entry) {
  if (strings::trim(entry).empty() || entry[0] == ' ' || entry.size() > kMaxHistoryEntryBytes) return {};
  if (!entries_.empty() && entries_.back() == entry) return {};
  entries_.emplace_back(entry);
  if (entries_.size() > kMaxHistoryEntries) entries_.pop_front();
  if (file_.empty()) return {};
  if (++lines_ > 2 * kMaxHistoryEntries) return shorten();
  const os::Fd fd(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode));
  if (!fd) return fail(os::system_error(errno, "open", file_));
  return os::write_fd(fd.get(), file_, escaped(entry));
}

Result<> History::shorten() {
  std::string text;
  for (const std::string& each : entries_) text += escaped(each);
  lines_ = entries_.size();
  return os::write_file_atomic(file_, text, kMode);
}

}  // namespace chela::tui
