#include "tui/keys.h"

#include <algorithm>
#include <map>

#include "base/limits.h"
#include "base/utf8.h"

namespace chela::tui {
namespace {

using Kind = Key::Kind;

constexpr std::string_view kPasteBegin = "\x1b[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";

// Sequences without their beginning ESC [ or ESC O. A modifier (";5") names Ctrl or Alt.
const std::map<std::string_view, Kind>& sequences() {
  static const std::map<std::string_view, Kind> known{
      {"A", Kind::kUp},           {"B", Kind::kDown},          {"C", Kind::kRight},
      {"D", Kind::kLeft},         {"H", Kind::kHome},          {"F", Kind::kEnd},
      {"1~", Kind::kHome},        {"7~", Kind::kHome},         {"4~", Kind::kEnd},
      {"8~", Kind::kEnd},         {"3~", Kind::kDelete},       {"Z", Kind::kBackTab},
      {"1;5C", Kind::kWordRight}, {"1;5D", Kind::kWordLeft},   {"1;3C", Kind::kWordRight},
      {"1;3D", Kind::kWordLeft},  {"5C", Kind::kWordRight},    {"5D", Kind::kWordLeft},
      {"13;2u", Kind::kNewLine},  {"27;2;13~", Kind::kNewLine}};
  return known;
}

bool is_final(char c) { return c >= 0x40 && c <= 0x7E; }

}  // namespace

std::vector<Key> KeyReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  while (!buffer_.empty() && (pasting_ ? take_paste() : take())) {
  }
  return std::exchange(keys_, {});
}

std::vector<Key> KeyReader::settle() {
  if (undecided()) {
    buffer_.clear();
    add(Kind::kEscape);
  }
  return std::exchange(keys_, {});
}

bool KeyReader::take() {
  const auto c = static_cast<unsigned char>(buffer_[0]);
  if (c == 0x1B) return take_sequence();
  size_t length = 1;
  if (c == '\r') {
    add(Kind::kEnter);
  } else if (c == '\n') {
    add(Kind::kNewLine);
  } else if (c == '\t') {
    add(Kind::kTab);
  } else if (c == 0x7F || c == 0x08) {
    add(Kind::kBackspace);
  } else if (c < 0x20) {
    add(Kind::kControl, std::string(1, static_cast<char>(c == 0 ? '@' : c < 27 ? c + 'a' - 1 : c + 0x40)));
  } else {
    const size_t held = utf8::incomplete_tail(buffer_);
    const std::string_view whole = std::string_view(buffer_).substr(0, buffer_.size() - held);
    if (whole.empty()) return false;
    length = std::min(whole.find_first_of("\x1b\r\n\t\x7f\x08"), whole.size());
    length = static_cast<size_t>(std::find_if(whole.begin(), whole.begin() + static_cast<long>(length),
                                              [](char b) { return static_cast<unsigned char>(b) < 0x20; }) -
                                 whole.begin());
    add(Kind::kText, utf8::sanitize(whole.substr(0, length)));
  }
  buffer_.erase(0, length);
  return true;
}

bool KeyReader::take_sequence() {
  if (buffer_.size() == 1) return false;
  const char second = buffer_[1];
  if (second != '[' && second != 'O') {
    if (second == '\x1b') {  // twice: the first one is the key
      add(Kind::kEscape);
      buffer_.erase(0, 1);
      return true;
    }
    if (second == '\r' || second == '\n')
      add(Kind::kNewLine);
    else if (second == '\x7f' || second == '\x08')
      add(Kind::kAlt);
    else if (second > 0x20)
      add(Kind::kAlt, std::string(1, second));
    buffer_.erase(0,
                  static_cast<unsigned char>(second) < 0x80 ? 2 : 1);  // a longer character is read as text
    return true;
  }
  const size_t most = std::min(buffer_.size(), kMaxKeySequenceBytes);
  size_t end = 2;
  while (end < most && !is_final(buffer_[end]) && static_cast<unsigned char>(buffer_[end]) >= 0x20) ++end;
  if (end == buffer_.size() && end < kMaxKeySequenceBytes) return false;
  if (end == most || !is_final(buffer_[end])) {  // no sequence: what broke it is read anew
    buffer_.erase(0, end);
    return true;
  }
  const std::string sequence = buffer_.substr(0, end + 1);
  buffer_.erase(0, end + 1);
  if (sequence == kPasteBegin) {
    pasting_ = true;
    paste_.clear();
  } else if (const auto found = sequences().find(std::string_view(sequence).substr(2));
             found != sequences().end()) {
    add(found->second);
  }
  return true;
}

// What does not fit into an input line any more is dropped.
bool KeyReader::take_paste() {
  const size_t end = buffer_.find(kPasteEnd);
  size_t whole = end;
  if (end == std::string::npos) {  // the mark's beginning may be there
    whole = buffer_.size();
    for (size_t n = std::min(buffer_.size(), kPasteEnd.size() - 1); n > 0; --n) {
      if (!buffer_.ends_with(kPasteEnd.substr(0, n))) continue;
      whole -= n;
      break;
    }
  }
  paste_ += buffer_.substr(0, std::min(whole, kMaxTypedBytes - paste_.size()));
  if (end == std::string::npos) {
    buffer_.erase(0, whole);
    return false;
  }
  buffer_.erase(0, end + kPasteEnd.size());
  pasting_ = false;
  std::string text;  // terminals send line ends as carriage returns
  for (size_t i = 0; i < paste_.size(); ++i) {
    if (paste_[i] == '\r') {
      text += '\n';
      if (paste_.substr(i + 1, 1) == "\n") ++i;
    } else {
      text += paste_[i];
    }
  }
  paste_.clear();
  add(Kind::kPaste, utf8::sanitize(text));
  return true;
}

}  // namespace chela::tui
