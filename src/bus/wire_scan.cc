#include "bus/wire_scan.h"

#include <simdjson.h>

#include <array>
#include <bit>
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
bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// The tokens of one text and the grammar over them. The last token is the bracket that closes the envelope. Only that place takes it, so
// nothing looks past it, and neither does what reads a value byte by byte: it stops at the next token at the latest.
class Walk {
 public:
  Walk(std::string_view text, std::span<const std::uint32_t> tokens, std::vector<RawMember>& members)
      : text_(text),
        bytes_(text.data()),
        first_(tokens.data()),
        last_(tokens.data() + tokens.size() - 1),
        members_(members),
        next_escape_(text.find('\\')) {}

  Result<> run() {
    const std::uint32_t* token = first_;
    if (char_at(token) != '{') return wrong(token, "no '{'");
    if (char_at(last_) != '}') return wrong(last_, "an unfinished object");
    if (++token == last_) return {};
    while (true) {
      if (char_at(token) != '"') return wrong(token, kMisplaced);
      const size_t key_end = string_end(token);
      if (key_end == 0) return wrong(token, fault_);
      if (members_.size() == kMaxFrameMembers) return wrong(token, "too many members");
      const std::string_view key = text_.substr(*token + 1, key_end - *token - 2);
      if (char_at(++token) != ':') return wrong(token, kMisplaced);
      const size_t start = *++token;
      const char begins = char_at(token);
      size_t end = 0;
      if (begins == '{' || begins == '[') {
        token = container_end(token);
        if (token == nullptr) return wrong(fault_at_, fault_);
        end = *token + 1;
      } else {
        end = begins == '"' ? string_end(token) : scalar_end(token, begins);
        if (end == 0) return wrong(token, fault_);
      }
      members_.push_back({.key = key, .value = text_.substr(start, end - start)});
      const char follows = char_at(++token);
      if (follows == '}' && token == last_) return {};
      if (follows != ',') return wrong(token, follows == '}' ? "more than one value" : kMisplaced);
      ++token;
    }
  }

 private:
  static constexpr const char* kMisplaced = "a misplaced token";

  Failure wrong(const std::uint32_t* token, const char* what) const {
    return fail(Code::kInvalidArgument, "the frame is no JSON object: {} at byte {}", what, *token);
  }
  const std::uint32_t* bad(const std::uint32_t* token, const char* what) {
    fault_at_ = token;
    fault_ = what;
    return nullptr;
  }

  char char_at(const std::uint32_t* token) const { return bytes_[*token]; }

  // The bracket that closes what one opens inside the envelope; null when it is not well-formed. Most of a frame is in here: what changes
  // with every token is local.
  const std::uint32_t* container_end(const std::uint32_t* token) {
    std::array<bool, kMaxJsonDepth> objects;  // which of the open containers are objects
    size_t depth = 1;
    bool in_object = false;
    while (true) {
      const char begins = char_at(token);
      if (begins == '"') {
        if (!string_valid(token)) return bad(token, fault_);
      } else if (begins == '{' || begins == '[') {
        if (depth == kMaxJsonDepth) return bad(token, "too deep a value");
        in_object = begins == '{';
        objects[depth++] = in_object;
        if (char_at(token + 1) != (in_object ? '}' : ']')) {
          ++token;
          if (in_object && (token = value_of(token)) == nullptr) return nullptr;
          continue;
        }
      } else if (!plain_scalar(token, begins) && scalar_end(token, begins) == 0) {
        return bad(token, kMisplaced);
      }
      while (char_at(++token) != ',') {
        if (char_at(token) != (in_object ? '}' : ']')) return bad(token, kMisplaced);
        if (token == last_) return bad(token, "an unfinished object");
        if (--depth == 1) return token;
        in_object = objects[depth - 1];
      }
      ++token;
      if (in_object && (token = value_of(token)) == nullptr) return nullptr;
    }
  }

  // Past a key and its colon; null when they are none.
  const std::uint32_t* value_of(const std::uint32_t* token) {
    if (char_at(token) != '"') return bad(token, kMisplaced);
    if (!string_valid(token)) return bad(token, fault_);
    return char_at(token + 1) == ':' ? token + 2 : bad(token + 1, kMisplaced);
  }

  // Whether the token is a number of at most eight digits, with a point or without, and nothing else before the next token. Most numbers
  // are, and to tell takes no look at single digits. False says nothing.
  bool plain_number(const std::uint32_t* token) const {
    const size_t at = *token;
    const size_t length = token == last_ ? 0 : token[1] - at;
    if (length == 0 || length > 8 || text_.size() - at < 8) return false;
    std::uint64_t digits = 0;
    std::memcpy(&digits, bytes_ + at, sizeof digits);
    const bool zero = (digits & 0xff) == '0';
    digits ^= kEach * '0';
    digits <<= 64 - 8 * length;  // what follows is not looked at
    if (all_below_ten(digits)) return !zero || length == 1;
    const std::uint64_t others = digits ^ kEach * ('.' ^ '0');
    const std::uint64_t points =
        (others - kEach) & ~others & kEach * 0x80;  // the lowest bit is that of a point
    if (points == 0) return false;
    const size_t bit = static_cast<size_t>(std::countr_zero(points)) & ~size_t{7};
    const size_t point = bit / 8 - (8 - length);
    if (point == 0 || point == length - 1 || (zero && point > 1)) return false;
    return all_below_ten(digits & ~(std::uint64_t{0xff} << bit));
  }

  static constexpr std::uint64_t kEach = 0x0101'0101'0101'0101;
  static bool all_below_ten(std::uint64_t bytes) {
    return ((bytes | (bytes + kEach * 6)) & kEach * 0xf0) == 0;
  }

  // The same for any value that is no container and no string.
  bool plain_scalar(const std::uint32_t* token, char begins) const {
    const auto is = [this, token](std::string_view word) {
      return token[1] - *token == word.size() && std::memcmp(bytes_ + *token, word.data(), word.size()) == 0;
    };
    if (begins < 'f') return plain_number(token);
    return (begins == 't' && is("true")) || (begins == 'f' && is("false")) || (begins == 'n' && is("null"));
  }

  // Past a value that is no container and no string; 0 when there is none.
  size_t scalar_end(const std::uint32_t* token, char begins) {
    const char* const at = bytes_ + *token;
    const char* const next = token == last_ ? at : bytes_ + token[1];
    const char* end = nullptr;
    switch (begins) {
      case 't':
        end = word_end(at, next, "true");
        break;
      case 'f':
        end = word_end(at, next, "false");
        break;
      case 'n':
        end = word_end(at, next, "null");
        break;
      default:
        end = number_end(at);
    }
    if (end != nullptr && (end == next || is_space(*end))) return static_cast<size_t>(end - bytes_);
    fault_ = kMisplaced;
    return 0;
  }

  static const char* word_end(const char* at, const char* next, std::string_view word) {
    return static_cast<size_t>(next - at) >= word.size() && std::memcmp(at, word.data(), word.size()) == 0
               ? at + word.size()
               : nullptr;
  }

  static const char* number_end(const char* at) {
    const auto digits = [](const char* from) {
      while (is_digit(*from)) ++from;
      return from;
    };
    const char* const whole = at + (*at == '-' ? 1 : 0);
    const char* end = digits(whole);
    if (end == whole || (*whole == '0' && end > whole + 1)) return nullptr;
    if (*end == '.') {
      const char* const fraction = end + 1;
      end = digits(fraction);
      if (end == fraction) return nullptr;
    }
    if (*end == 'e' || *end == 'E') {
      const char* const exponent = end + (end[1] == '+' || end[1] == '-' ? 2 : 1);
      end = digits(exponent);
      if (end == exponent) return nullptr;
    }
    return end;
  }

  // Of a string whose end nobody needs. Stage 1 has seen to it that it is closed, and whatever follows it that is no white space is the
  // next token. Most have no escape, and then are not looked into.
  bool string_valid(const std::uint32_t* token) { return next_escape_ >= token[1] || string_end(token) != 0; }

  // Past the closing quote; 0 when there is none. Tokens are where values begin, so the quote is the last character before the next
  // one, white space apart.
  size_t string_end(const std::uint32_t* token) {
    const size_t at = *token;
    size_t end = token[1];
    while (end > at + 1 && is_space(bytes_[end - 1])) --end;
    fault_ = kMisplaced;
    if (end < at + 2 || bytes_[end - 1] != '"') return 0;
    if (next_escape_ < end) {
      fault_ = "a malformed escape";
      if (!escapes_valid(text_.substr(at + 1, end - at - 2))) return 0;
      next_escape_ = text_.find('\\', end);
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

  const std::string_view text_;
  const char* const bytes_;
  const std::uint32_t* const first_;
  const std::uint32_t* const last_;
  std::vector<RawMember>& members_;
  size_t
      next_escape_;  // the first backslash that no string has been checked up to; it ends a value that is no string
  const char* fault_ = kMisplaced;
  const std::uint32_t* fault_at_ = nullptr;
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
  if (parser.n_structural_indexes == 0)
    return fail(Code::kInvalidArgument, "the frame is no JSON: it is empty");
  Walk walk(text, {parser.structural_indexes.get(), parser.n_structural_indexes}, state_->members);
  if (Result<> walked = walk.run(); !walked) return fail(walked.error());
  return std::span<const RawMember>(state_->members);
}

}  // namespace chela::bus
