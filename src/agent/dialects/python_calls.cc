#include "agent/dialects/python_calls.h"

#include <algorithm>

#include "agent/dialects/limits.h"
#include "base/utf8.h"

namespace chela::agent::dialects {
namespace {

using json::Value;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads from the front of a text; every step is nothing once something does not fit.
class Literals {
 public:
  explicit Literals(std::string_view text) : rest_(text) {}

  bool take(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool at_end() {
    skip_space();
    return rest_.empty();
  }
  // Names of tools may have dots, dashes and colons, those of arguments may not.
  std::string_view word(std::string_view more) {
    skip_space();
    size_t size = 0;
    while (size < rest_.size() && (is_letter(rest_[size]) || (size > 0 && is_digit(rest_[size])) ||
                                   (size > 0 && more.find(rest_[size]) != std::string_view::npos)))
      ++size;
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }

  // a=1, b="x" up to the closing bracket.
  std::optional<Value> arguments() {
    Value object = Value::object();
    if (!take('(')) return std::nullopt;
    while (!take(')')) {
      const std::string_view key = word("");
      if (key.empty() || object.find(key) != nullptr || !take('=')) return std::nullopt;
      std::optional<Value> value = literal(0);
      if (!value) return std::nullopt;
      object.set(std::string(key), std::move(*value));
      if (!take(',') && !rest_.starts_with(')')) return std::nullopt;
    }
    return object;
  }

 private:
  void skip_space() {
    const size_t at = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(at, rest_.size()));
  }

  std::optional<Value> literal(int depth) {
    skip_space();
    if (rest_.empty() || depth > kMaxPythonDepth) return std::nullopt;
    const char c = rest_.front();
    if (c == '"' || c == '\'') return text();
    if (c == '[') return list(']', depth);
    if (c == '(') return list(')', depth);
    if (c == '{') return dictionary(depth);
    if (c == '-' || is_digit(c)) return number();
    const std::string_view name = word("");
    if (name == "None" || name == "null") return Value();
    if (name == "True" || name == "true") return Value(true);
    if (name == "False" || name == "false") return Value(false);
    return std::nullopt;
  }

  std::optional<Value> list(char closer, int depth) {
    rest_.remove_prefix(1);
    Value array = Value::array();
    while (!take(closer)) {
      std::optional<Value> item = literal(depth + 1);
      if (!item) return std::nullopt;
      array.push_back(std::move(*item));
      if (!take(',') && !rest_.starts_with(closer)) return std::nullopt;
    }
    return array;
  }

  std::optional<Value> dictionary(int depth) {
    rest_.remove_prefix(1);
    Value object = Value::object();
    while (!take('}')) {
      std::optional<Value> key = literal(depth + 1);
      if (!key || !key->is_string() || !take(':')) return std::nullopt;
      std::optional<Value> value = literal(depth + 1);
      if (!value) return std::nullopt;
      object.set(*key->as_string(), std::move(*value));
      if (!take(',') && !rest_.starts_with('}')) return std::nullopt;
    }
    return object;
  }

  std::optional<Value> number() {
    const size_t size = std::min(rest_.find_first_not_of("+-.0123456789eE"), rest_.size());
    Result<Value> parsed = json::parse(rest_.substr(0, size));
    if (!parsed || !parsed->is_number()) return std::nullopt;
    rest_.remove_prefix(size);
    return std::move(*parsed);
  }

  std::optional<Value> text() {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    std::string out;
    while (!rest_.empty() && rest_.front() != quote) {
      if (rest_.front() != '\\') {
        const char stops[] = {quote, '\\', '\0'};
        const size_t plain = std::min(rest_.find_first_of(stops), rest_.size());
        out += rest_.substr(0, plain);
        rest_.remove_prefix(plain);
      } else if (!escape(out)) {
        return std::nullopt;
      }
    }
    if (rest_.empty()) return std::nullopt;
    rest_.remove_prefix(1);
    return Value(std::move(out));
  }

  bool escape(std::string& out) {
    constexpr std::string_view kWritten = "ntrbf0\\'\"/";
    constexpr std::string_view kMeant("\n\t\r\b\f\0\\'\"/", 10);
    if (rest_.size() < 2) return false;
    const char c = rest_[1];
    rest_.remove_prefix(2);
    if (const size_t at = kWritten.find(c); at != std::string_view::npos) {
      out += kMeant[at];
      return true;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {  // Python keeps what it does not know
      out += '\\';
      out += c;
      return true;
    }
    std::uint32_t code = 0;
    if (rest_.size() < digits) return false;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + digits, code, 16);
    if (error != std::errc{} || end != rest_.data() + digits) return false;
    rest_.remove_prefix(digits);
    if (code >= 0xD800 && code < 0xDC00) {  // half of a character, as JSON writes it
      std::uint32_t low = 0;
      if (!rest_.starts_with("\\u") || rest_.size() < 6) return false;
      const auto [low_end, failed] = std::from_chars(rest_.data() + 2, rest_.data() + 6, low, 16);
      if (failed != std::errc{} || low_end != rest_.data() + 6 || low < 0xDC00 || low > 0xDFFF) return false;
      rest_.remove_prefix(6);
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code > 0x10FFFF || (code >= 0xDC00 && code <= 0xDFFF)) return false;
    utf8::append(out, static_cast<char32_t>(code));
    return true;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<Value> python_arguments(std::string_view text) {
  Literals in(text);
  std::optional<Value> arguments = in.arguments();
  return arguments && in.at_end() ? std::move(arguments) : std::nullopt;
}

std::vector<Call> python_calls(std::string_view text, const ToolSet& tools) {
  Literals in(text);
  std::vector<Call> calls;
  const bool list = in.take('[');
  do {
    std::string_view name = in.word(".:-");
    const Tool* tool = tools.find(name);
    constexpr std::string_view kMethod = ".call";  // Llama's own tools: brave_search.call(query="x")
    if (tool == nullptr && name.ends_with(kMethod))
      tool = tools.find(name.substr(0, name.size() - kMethod.size()));
    std::optional<Value> arguments = tool != nullptr ? in.arguments() : std::nullopt;
    if (!arguments) return {};
    calls.push_back(Call{.name = tool->name, .arguments = std::move(*arguments)});
  } while (list && in.take(','));
  if ((list && !in.take(']')) || !in.at_end()) return {};
  return calls;
}

}  // namespace chela::agent::dialects
