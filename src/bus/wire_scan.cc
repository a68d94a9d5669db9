#include "bus/wire_scan.h"

#include <simdjson.h>

#include <bitset>
#include <cstring>
#include <vector>

#include "bus/limits.h"

namespace chela::bus {
namespace {

using Parser = std::unique_ptr<simdjson::internal::dom_parser_implementation>;

Result<Parser> make_parser(size_t capacity) {
  Parser made;
  if (simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 1, made) !=
      simdjson::SUCCESS) {
    return fail(Code::kUnavailable, "no memory to read a frame of {} bytes", capacity);
  }
  return made;
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// The tokens of one text and the grammar over them.
class Walk {
 public:
  Walk(std::string_view text, std::span<const std::uint32_t> tokens, std::vector<RawMember>& members)
      : text_(text),
        first_(tokens.data()),
        last_(tokens.data() + tokens.size()),
        members_(members),
        has_escapes_(text.find('\\') != std::string_view::npos) {}

  Result<> run() {
    const std::uint32_t* token = first_;
    if (char_at(token) != '{') return wrong(token, "no '{'");
    // Local, so that they stay in registers: they change with every token.
    size_t depth = 0;
    bool in_object = false;
    std::bitset<kMaxJsonDepth> objects;  // which of the open containers are objects
    size_t value_start = 0;
    while (true) {
      if (in_object) {
        if (char_at(token) != '"') return wrong(token, kMisplaced);
        if (depth == 1) {
          const size_t key_end = string_end(token);
          if (key_end == 0) return wrong(token, misplaced_or(fault_));
          if (members_.size() == kMaxFrameMembers) return wrong(token, "too many members");
          members_.push_back({.key = text_.substr(*token + 1, key_end - *token - 2), .value = {}});
        } else if (!string_valid(token)) {
          return wrong(token, misplaced_or(fault_));
        }
        if (char_at(++token) != ':') return wrong(token, kMisplaced);
        ++token;
      }
      if (depth == 1) value_start = text_offset(token);
      const char begins = char_at(token);
      if (begins == '{' || begins == '[') {
        if (depth == kMaxJsonDepth) return wrong(token, "too deep a value");
        in_object = begins == '{';
        objects[depth++] = in_object;
        if (char_at(++token) != (in_object ? '}' : ']')) continue;
      } else if (begins == '"' && depth > 1) {
        if (!string_valid(token)) return wrong(token, misplaced_or(fault_));
        ++token;
      } else {
        const size_t end = scalar_end(token, begins);
        if (end == 0) return wrong(token, misplaced_or(fault_));
        if (depth == 1) members_.back().value = text_.substr(value_start, end - value_start);
        ++token;
      }
      while (char_at(token) != ',') {
        if (char_at(token) != (in_object ? '}' : ']')) {
          return wrong(token, token == last_ ? "an unfinished object" : kMisplaced);
        }
        const size_t end = *token++ + 1;
        if (--depth == 0) return token == last_ ? Result<>() : wrong(token, "more than one value");
        in_object = objects[depth - 1];
        if (depth == 1) members_.back().value = text_.substr(value_start, end - value_start);
      }
      ++token;
    }
  }

 private:
  static constexpr const char* kMisplaced = "a misplaced token";

  static const char* misplaced_or(const char* fault) { return fault == nullptr ? kMisplaced : fault; }

  Failure wrong(const std::uint32_t* token, const char* what) const {
    return fail(Code::kInvalidArgument, "the frame is no JSON object: {} at byte {}", what,
                text_offset(token));
  }

  size_t text_offset(const std::uint32_t* token) const { return token < last_ ? *token : text_.size(); }

  // What the token begins with; '\0' when there is none.
  char char_at(const std::uint32_t* token) const { return token < last_ ? text_[*token] : '\0'; }

  // Past a value that is no container; 0 when there is none.
  size_t scalar_end(const std::uint32_t* token, char begins) {
    if (token == last_) return 0;
    size_t end = 0;
    switch (begins) {
      case '"':
        end = string_end(token);
        break;
      case 't':
        end = word_end(*token, "true");
        break;
      case 'f':
        end = word_end(*token, "false");
        break;
      case 'n':
        end = word_end(*token, "null");
        break;
      default:
        end = number_end(*token);
    }
    return end != 0 && delimited(end) ? end : 0;
  }

  bool delimited(size_t end) const {
    if (end == text_.size()) return true;
    const char c = text_[end];
    return c == ',' || c == '}' || c == ']' || is_space(c);
  }

  size_t word_end(size_t at, std::string_view word) const {
    return text_.size() - at >= word.size() && std::memcmp(text_.data() + at, word.data(), word.size()) == 0
               ? at + word.size()
               : 0;
  }

  // Of a string whose end nobody needs. Stage 1 has seen to it that it is closed, and whatever follows it that is no white space is the
  // next token.
  bool string_valid(const std::uint32_t* token) { return !has_escapes_ || string_end(token) != 0; }

  // Past the closing quote; 0 when there is none. Tokens are where values begin, so the quote is the last character before the next
  // one, white space apart.
  size_t string_end(const std::uint32_t* token) {
    const size_t at = *token;
    size_t end = text_offset(token + 1);
    while (end > at + 1 && is_space(text_[end - 1])) --end;
    if (end < at + 2 || text_[end - 1] != '"') return 0;
    if (has_escapes_ && !escapes_valid(text_.substr(at + 1, end - at - 2))) {
      fault_ = "a malformed escape";
      return 0;
    }
    return end;
  }

  static bool escapes_valid(std::string_view inside) {
    for (size_t i = inside.find('\\'); i != std::string_view::npos; i = inside.find('\\', i)) {
      if (i + 1 >= inside.size()) return false;
      const char c = inside[i + 1];
      i += 2;
      if (c != 'u') {
        if (std::strchr("\"\\/bfnrt", c) == nullptr || c == '\0') return false;
        continue;
      }
      if (i + 4 > inside.size()) return false;
      for (size_t k = 0; k < 4; ++k) {
        if (!is_hex(inside[i + k])) return false;
      }
      i += 4;
    }
    return true;
  }

  // Past a number; 0 when there is none.
  size_t number_end(size_t at) const {
    const auto digits = [this](size_t from) {
      while (from < text_.size() && is_digit(text_[from])) ++from;
      return from;
    };
    size_t i = at + (text_[at] == '-' ? 1 : 0);
    const size_t whole = digits(i);
    if (whole == i || (text_[i] == '0' && whole > i + 1)) return 0;
    i = whole;
    if (i < text_.size() && text_[i] == '.') {
      const size_t end = digits(i + 1);
      if (end == i + 1) return 0;
      i = end;
    }
    if (i < text_.size() && (text_[i] == 'e' || text_[i] == 'E')) {
      ++i;
      if (i < text_.size() && (text_[i] == '+' || text_[i] == '-')) ++i;
      const size_t end = digits(i);
      if (end == i) return 0;
      i = end;
    }
    return i;
  }

  const std::string_view text_;
  const std::uint32_t* const first_;
  const std::uint32_t* const last_;
  std::vector<RawMember>& members_;
  const bool has_escapes_;  // most frames have none: then no string is looked into
  const char* fault_ = nullptr;
};

}  // namespace

struct Scanner::State {
  Parser kept;
  std::vector<RawMember> members;
};

Scanner::Scanner() : state_(std::make_unique<State>()) { state_->members.reserve(kMaxFrameMembers); }
Scanner::~Scanner() = default;

Result<std::span<const RawMember>> Scanner::scan(std::string_view text) {
  if (text.size() > kMaxFrameBytes)
    return fail(Code::kTooLarge, "a frame of {} bytes is longer than {}", text.size(), kMaxFrameBytes);
  Parser large;
  if (text.size() > kKeptScannerBytes || !state_->kept) {
    Result<Parser> made = make_parser(std::max(text.size(), kKeptScannerBytes));
    if (!made) return fail(made.error());
    (text.size() > kKeptScannerBytes ? large : state_->kept) = std::move(*made);
  }
  simdjson::internal::dom_parser_implementation& parser = large ? *large : *state_->kept;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  if (const simdjson::error_code ec = parser.stage1(bytes, text.size(), simdjson::stage1_mode::regular);
      ec != simdjson::SUCCESS) {
    return fail(Code::kInvalidArgument, "the frame is no JSON: {}", simdjson::error_message(ec));
  }
  state_->members.clear();
  Walk walk(text, {parser.structural_indexes.get(), parser.n_structural_indexes}, state_->members);
  if (Result<> walked = walk.run(); !walked) return fail(walked.error());
  return std::span<const RawMember>(state_->members);
}

}  // namespace chela::bus
