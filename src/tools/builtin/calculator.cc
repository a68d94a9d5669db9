#include "tools/builtin/calculator.h"

#include "base/strings.h"
#include "base/utf8.h"
#include "tools/builtin/calc_functions.h"

namespace chela::tools {
namespace {

using calc::Number;

constexpr std::size_t kMaxShownBytes = 24;  // of the text near an error

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The signs of mathematics in plain notation.
std::string plain(std::string_view expression) {
  std::string text(strings::trim(expression));
  const std::pair<std::string_view, std::string_view> signs[] = {
      {"\u00d7", "*"}, {"\u00b7", "*"},  {"\u22c5", "*"}, {"\u00f7", "/"}, {"\u2212", "-"},
      {"\u2013", "-"}, {"\u03c0", "pi"}, {"\u00a0", " "}, {"**", "^"}};
  for (const auto& [from, to] : signs) text = strings::replace_all(std::move(text), from, to);
  while (text.ends_with('=') || text.ends_with(' ')) text.pop_back();
  return text;
}

// Parses and evaluates at once, by recursive descent:
//   sum := product (('+' | '-') product)*      product := signed (('*' | '/' | '%') signed)*
//   signed := ('+' | '-') signed | power       power := postfix ('^' signed)?
//   postfix := value '!'*                      value := number | name | name '(' sum (',' sum)* ')' | '(' sum ')'
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Number> run() {
    Result<Number> value = sum();
    if (value && !at_end()) return unexpected("an operator such as + - * / % ^");
    return value;
  }

 private:
  bool at_end() {
    while (at_ < text_.size() && (text_[at_] == ' ' || (text_[at_] >= '\t' && text_[at_] <= '\r'))) ++at_;
    return at_ == text_.size();
  }
  char peek() { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }

  Failure unexpected(std::string_view expected) {
    if (at_end()) return fail(Code::kInvalidArgument, "expected {} at the end", expected);
    const std::string_view hint = peek() == ','       ? " (write numbers without thousands separators)"
                                  : text_[at_] == '=' ? " (the calculator takes one expression, no equation)"
                                                      : "";
    return fail(Code::kInvalidArgument, "expected {} at '{}'{}", expected,
                utf8::prefix(text_.substr(at_), kMaxShownBytes), hint);
  }

  Result<Number> sum() {
    Result<Number> left = product();
    while (left && (peek() == '+' || peek() == '-')) {
      const bool plus = text_[at_++] == '+';
      const Result<Number> right = product();
      if (!right) return right;
      left = plus ? left->plus(*right) : left->minus(*right);
    }
    return left;
  }

  Result<Number> product() {
    Result<Number> left = signed_value();
    while (left && (peek() == '*' || peek() == '/' || peek() == '%')) {
      const char sign = text_[at_++];
      if (sign == '%' && (at_end() || std::string_view("+*/%^),").contains(peek()))) {
        return fail(Code::kInvalidArgument,
                    "% is the remainder of a division (7 % 3); for percent divide by 100");
      }
      const Result<Number> right = signed_value();
      if (!right) return right;
      left = sign == '*'   ? left->times(*right)
             : sign == '/' ? left->divided_by(*right)
                           : left->modulo(*right);
    }
    return left;
  }

  // Every recursion passes through here.
  Result<Number> signed_value() {
    if (depth_ == kMaxExpressionDepth)
      return fail(Code::kInvalidArgument, "the expression is nested more than {} deep", kMaxExpressionDepth);
    ++depth_;
    Result<Number> value;
    if (take('-')) {
      value = signed_value();
      if (value) value = value->negated();
    } else if (take('+')) {
      value = signed_value();
    } else {
      value = power();
    }
    --depth_;
    return value;
  }

  Result<Number> power() {
    Result<Number> base = postfix();
    if (!base || !take('^')) return base;
    const Result<Number> exponent = signed_value();
    return exponent ? base->power(*exponent) : exponent;
  }

  Result<Number> postfix() {
    Result<Number> operand = value();
    while (operand && take('!')) operand = operand->factorial();
    return operand;
  }

  Result<Number> value() {
    const char c = peek();
    if (is_digit(c) || c == '.') return number();
    if (is_letter(c)) return named();
    if (!take('(')) return unexpected("a number");
    Result<Number> inner = sum();
    if (inner && !take(')')) return unexpected("')'");
    return inner;
  }

  void skip_digits() {
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  }

  Result<Number> number() {
    const std::size_t begin = at_;
    skip_digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      skip_digits();
    }
    if (text_.substr(begin, at_ - begin) == ".") return unexpected("digits");
    // An exponent only when digits follow: "2e" is no number, but "2*e" is a product.
    std::size_t e = at_;
    if (e < text_.size() && (text_[e] == 'e' || text_[e] == 'E')) {
      ++e;
      if (e < text_.size() && (text_[e] == '+' || text_[e] == '-')) ++e;
      if (e < text_.size() && is_digit(text_[e])) {
        at_ = e;
        skip_digits();
      }
    }
    return Number::parse(text_.substr(begin, at_ - begin));
  }

  Result<Number> named() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string name = strings::lower(text_.substr(begin, at_ - begin));
    if (!calc::is_function(name)) return calc::constant(name);
    if (!take('(')) return unexpected(fmt::format("'(' after {}", name));
    std::vector<Number> arguments;
    do {
      if (arguments.size() == calc::kMaxFunctionArguments)
        return fail(Code::kInvalidArgument, "{} has more than {} values", name, calc::kMaxFunctionArguments);
      Result<Number> argument = sum();
      if (!argument) return argument;
      arguments.push_back(std::move(*argument));
    } while (take(','));
    if (!take(')')) return unexpected("',' or ')'");
    return calc::call_function(name, arguments);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::string> calculate(std::string_view expression) {
  if (expression.size() > kMaxExpressionBytes) {
    return fail(Code::kInvalidArgument, "the expression has {} bytes; at most {} are taken",
                expression.size(), kMaxExpressionBytes);
  }
  const std::string text = plain(expression);
  const Result<Number> value = Parser(text).run();
  if (!value) return fail(value.error());
  return value->text();
}

}  // namespace chela::tools
