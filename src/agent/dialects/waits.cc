#include "agent/dialects/waits.h"

#include "agent/dialects/glm_calls.h"
#include "base/limits.h"

namespace chela::agent::dialects {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Bytes that a JSON string goes on with: all but quote, backslash and control characters.
constexpr std::array<bool, 256> kInString = [] {
  std::array<bool, 256> table{};
  for (size_t i = 0x20; i < table.size(); ++i) table[i] = i != '"' && i != '\\';
  return table;
}();

// Bytes that may stand between strings and brackets.
constexpr std::array<bool, 256> kBetween = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view(" \t\r\n0123456789+-.eE:,truefalsn"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();

unsigned char byte(char c) { return static_cast<unsigned char>(c); }

}  // namespace

bool NotSpace::decide(std::string_view view, More more) {
  while (at_ < view.size() && is_space(view[at_])) ++at_;
  return at_ < view.size() || more == More::kNone;
}

bool Strays::decide(std::string_view view, More more) {
  constexpr std::string_view kStray = "}]),;` \t\r\n";
  while (at_ < view.size() && at_ < from_ + kMaxStrayBytes &&
         kStray.find(view[at_]) != std::string_view::npos)
    ++at_;
  return at_ < view.size() || at_ == from_ + kMaxStrayBytes || more == More::kNone;
}

bool WordEnd::decide(std::string_view view, More more) {
  while (at_ < view.size() && at_ <= from_ + kMaxNameBytes && is_name_char(view[at_])) ++at_;
  return at_ < view.size() || at_ > from_ + kMaxNameBytes || more == More::kNone;
}

// Goes on to the end of the string. False when the view ends first, or the string is broken.
bool JsonEnd::step_string(std::string_view view) {
  while (true) {
    while (at_ < view.size() && kInString[byte(view[at_])]) ++at_;
    if (at_ == view.size()) return false;
    if (view[at_] == '"') {
      ++at_;
      in_string_ = false;
      return true;
    }
    if (view[at_] != '\\') {
      found_ = Found::kNo;
      return false;
    }
    if (at_ + 1 == view.size()) return false;
    at_ += 2;
  }
}

bool JsonEnd::decide(std::string_view view, More more) {
  while (true) {
    if (in_string_ && !step_string(view)) return found_ == Found::kNo || more == More::kNone;
    while (at_ < view.size() && kBetween[byte(view[at_])]) ++at_;
    if (at_ == view.size()) return more == More::kNone;
    const char c = view[at_];
    if (c == '"' && !closers_.empty()) {
      in_string_ = true;
    } else if ((c == '{' || c == '[') && closers_.size() < kMaxJsonDepth) {
      closers_.push_back(c == '{' ? '}' : ']');
    } else if (!closers_.empty() && c == closers_.back()) {
      closers_.pop_back();
      if (closers_.empty()) found_ = Found::kYes;
    } else {
      found_ = Found::kNo;
      return true;
    }
    ++at_;
    if (found_ == Found::kYes) return true;
  }
}

bool BracketEnd::decide(std::string_view view, More more) {
  for (; at_ < view.size(); ++at_) {
    const char c = view[at_];
    if (quote_ != 0) {
      if (c == '\\') {
        if (at_ + 1 == view.size()) return more == More::kNone;
        ++at_;
      } else if (c == quote_) {
        quote_ = 0;
      }
    } else if (c == '"' || (c == '\'' && quotes_ == Quotes::kBoth)) {
      quote_ = c;
    } else if (c == '(' || c == '[' || c == '{') {
      closers_ += c == '(' ? ')' : c == '[' ? ']' : '}';
      if (closers_.size() > depth_) found_ = Found::kNo;
    } else if (c == ')' || c == ']' || c == '}') {
      if (closers_.empty() || closers_.back() != c) {
        found_ = Found::kNo;
      } else {
        closers_.pop_back();
        if (closers_.empty()) found_ = Found::kYes;
      }
    }
    if (found_ == Found::kOut) continue;
    if (found_ == Found::kYes) ++at_;
    return true;
  }
  return more == More::kNone;
}

Literal::Literal(size_t from, std::span<const std::string_view> texts, size_t within)
    : texts_(texts), at_(from), until_(within == kAnywhere ? kAnywhere : from + within) {
  for (const std::string_view each : texts_) first_[byte(each.front())] = true;
}

bool Literal::decide(std::string_view view, More more) {
  for (; at_ < view.size() && at_ < until_; ++at_) {
    if (!first_[byte(view[at_])]) continue;
    const std::string_view rest = view.substr(at_);
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (rest.starts_with(texts_[i])) {
        which_ = i;
        size_ = texts_[i].size();
        found_ = Found::kYes;
        return true;
      }
      if (more == More::kMayCome && texts_[i].starts_with(rest)) return false;
    }
  }
  if (at_ >= until_) found_ = Found::kNo;
  return at_ >= until_ || more == More::kNone;
}

}  // namespace chela::agent::dialects
