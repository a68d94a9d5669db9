#include "infer/arithmetic.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "infer/arithmetic_tokens.h"

namespace chela::infer {
namespace {

using Kind = ArithmeticToken::Kind;
using Tokens = std::span<const ArithmeticToken>;

constexpr int kMaxNesting = 32;  // parentheses of an expression
constexpr std::size_t kMaxFillers =
    3;  // words between an operand and its operator: "1200 and then divide it by 3"

constexpr auto kFillers =
    std::to_array<std::string_view>({"and", "then", "it", "that", "we", "you", "i", "if", "to", "the"});
constexpr auto kListWords =
    std::to_array<std::string_view>({"and", "to", "with", "by", "from", "between", "among", "into", "of",
                                     "up", "together", "numbers", "the", "in"});
// Words around an expression that say nothing else is wanted.
constexpr auto kPlainWords = std::to_array<std::string_view>(
    {"what",   "what's", "whats",  "is",    "how",  "much",       "many",  "calculate", "compute",  "the",
     "result", "of",     "please", "work",  "out",  "equals",     "equal", "solve",     "evaluate", "me",
     "tell",   "can",    "you",    "could", "use",  "calculator", "a",     "and",       "it",       "do",
     "i",      "get",    "answer", "does",  "make", "would",      "be",    "so",        "when",     "sum",
     "to",     "for",    "using",  "with",  "math", "quick"});

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Recursive descent over tokens; each function appends to `out` and moves `at`, and returns false when nothing complete starts there.
class Parser {
 public:
  explicit Parser(Tokens tokens) : tokens_(tokens) {}

  // The longest complete expression that starts at `begin`; `end` is the token after it.
  bool expression(std::size_t begin, std::string& out, std::size_t& end, std::size_t& operators) {
    at_ = begin;
    operators_ = 0;
    if (!sum(out, 0)) return false;
    end = at_;
    operators = operators_;
    return true;
  }

 private:
  bool is(Kind kind) const { return at_ < tokens_.size() && tokens_[at_].kind == kind; }

  bool sum(std::string& out, int depth) {
    if (!operand(out, depth)) return false;
    while (true) {
      const auto before = at_;
      const auto length = out.size();
      const auto count = operators_;
      skip_fillers();
      if (!is(Kind::kOperator)) {
        at_ = before;
        return true;
      }
      out += tokens_[at_++].text;
      ++operators_;
      if (!operand(out, depth)) {
        at_ = before;  // a dangling operator is no part of the expression
        out.resize(length);
        operators_ = count;
        return true;
      }
    }
  }

  void skip_fillers() {
    const auto before = at_;
    for (std::size_t skipped = 0; skipped <= kMaxFillers && at_ < tokens_.size(); ++skipped, ++at_) {
      if (is(Kind::kOperator)) return;
      if (!is(Kind::kComma) && !(is(Kind::kWord) && contains(kFillers, tokens_[at_].text))) break;
    }
    if (!is(Kind::kOperator)) at_ = before;
  }

  bool operand(std::string& out, int depth) {
    if (depth > kMaxNesting || at_ >= tokens_.size()) return false;
    const auto& token = tokens_[at_];
    switch (token.kind) {
      case Kind::kOperator:
        if (token.text != "-") return false;
        ++at_;
        out += '-';
        return operand(out, depth + 1);
      case Kind::kPrefix:
        ++at_;
        ++operators_;
        out += token.text;
        return operand(out, depth + 1);
      case Kind::kFunction:
        ++at_;
        ++operators_;
        out += token.text;
        if (is(Kind::kOpen)) return parenthesised(out, depth) && postfix(out, depth);
        out += '(';
        if (!operand(out, depth + 1)) return false;
        out += ')';
        return true;
      case Kind::kOpen:
        return parenthesised(out, depth) && postfix(out, depth);
      case Kind::kNumber:
        ++at_;
        out += token.text;
        return postfix(out, depth);
      default:
        return false;
    }
  }

  bool parenthesised(std::string& out, int depth) {
    ++at_;
    out += '(';
    while (true) {
      if (!sum(out, depth + 1)) return false;
      if (!is(Kind::kComma)) break;
      ++at_;
      out += ',';
    }
    if (!is(Kind::kClose)) return false;
    ++at_;
    out += ')';
    return true;
  }

  bool postfix(std::string& out, int depth) {
    while (is(Kind::kPostfix)) {
      const auto& text = tokens_[at_++].text;
      ++operators_;
      out += text;
      if (text.ends_with('*')) return operand(out, depth + 1);  // "15 percent of 80"
    }
    return true;
  }

  Tokens tokens_;
  std::size_t at_ = 0;
  std::size_t operators_ = 0;
};

// The numbers of "4, 5 and 6" or "90 dollars between 4 people" that follow `at`.
std::vector<std::string> number_list(Tokens tokens, std::size_t at, std::size_t& end) {
  std::vector<std::string> numbers;
  std::size_t plain = 0;  // words since the last number that are no list words
  for (; at < tokens.size(); ++at) {
    const auto& token = tokens[at];
    if (token.kind == Kind::kNumber) {
      numbers.push_back(token.text);
      end = at + 1;
      plain = 0;
    } else if (token.kind == Kind::kComma ||
               (token.kind == Kind::kWord && contains(kListWords, token.text))) {
      continue;
    } else if (token.kind == Kind::kWord && ++plain <= 1) {
      continue;
    } else {
      break;
    }
  }
  return numbers;
}

std::string joined(const std::vector<std::string>& numbers, char sign) {
  std::string out;
  for (const auto& number : numbers) {
    if (!out.empty()) out += sign;
    out += number;
  }
  return out;
}

// "add 4 and 5", "subtract 5 from 20", "the average of 2, 4 and 9".
std::string verb_expression(std::string_view verb, Tokens tokens, std::size_t at, std::size_t& end) {
  const auto numbers = number_list(tokens, at + 1, end);
  if (numbers.size() < 2) return {};
  const bool two = numbers.size() == 2;
  if (verb == "add" || verb == "sum" || verb == "total") return joined(numbers, '+');
  if (verb == "multiply" || verb == "product") return joined(numbers, '*');
  if (verb == "average" || verb == "mean")
    return "(" + joined(numbers, '+') + ")/" + std::to_string(numbers.size());
  if ((verb == "divide" || verb == "split" || verb == "share") && two) return joined(numbers, '/');
  if (verb == "difference" && two) return joined(numbers, '-');
  const bool from = std::any_of(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                tokens.begin() + static_cast<std::ptrdiff_t>(end),
                                [](const ArithmeticToken& token) { return token.text == "from"; });
  if ((verb == "subtract" || verb == "deduct" || verb == "take") && two && from)
    return numbers[1] + "-" + numbers[0];
  return {};
}

struct Found {
  std::string text;
  std::size_t begin = 0;
  std::size_t end = 0;
};

Found find_verb(Tokens tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != Kind::kWord) continue;
    std::size_t end = 0;
    if (auto text = verb_expression(tokens[i].text, tokens, i, end); !text.empty())
      return {std::move(text), i, end};
  }
  return {};
}

// "4 tickets at 19 each"
Found find_unit_price(Tokens tokens) {
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i].kind != Kind::kWord || tokens[i].text != "at" || tokens[i + 1].kind != Kind::kNumber)
      continue;
    const bool each = std::any_of(
        tokens.begin() + static_cast<std::ptrdiff_t>(i) + 2, tokens.end(),
        [](const ArithmeticToken& token) { return token.text == "each" || token.text == "apiece"; });
    if (!each) continue;
    for (std::size_t back = i; back-- > 0 && i - back <= 3;) {
      if (tokens[back].kind == Kind::kNumber)
        return {tokens[back].text + "*" + tokens[i + 1].text, back, i + 3};
    }
  }
  return {};
}

Found find_infix(Tokens tokens) {
  Found best;
  Parser parser(tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string text;
    std::size_t end = 0;
    std::size_t operators = 0;
    if (!parser.expression(i, text, end, operators) || operators == 0) continue;
    if (end - i > best.end - best.begin) best = {std::move(text), i, end};
    i = std::max(i, end - 1);
  }
  return best;
}

}  // namespace

std::optional<Arithmetic> find_arithmetic(std::string_view text) {
  const auto tokens = arithmetic_tokens(text);
  auto found = find_infix(tokens);
  if (found.text.empty()) found = find_verb(tokens);
  if (found.text.empty()) found = find_unit_price(tokens);
  if (found.text.empty()) return std::nullopt;
  Arithmetic out{.expression = std::move(found.text)};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool outside = i < found.begin || i >= found.end;
    if (outside && tokens[i].kind == Kind::kWord && !contains(kPlainWords, tokens[i].text)) ++out.words_left;
  }
  return out;
}

}  // namespace chela::infer
