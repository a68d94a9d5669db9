#include "infer/span_grammar.h"

#include "base/json.h"
#include "base/strings.h"
#include "infer/limits.h"

namespace chela::infer {
namespace {

// The text as it stands inside a JSON string.
std::string json_inner(std::string_view text) {
  std::string out;
  json::write_string_to(out, text);
  return out.substr(1, out.size() - 2);
}

std::string_view without_opening(std::string_view word) {
  while (word.size() > 1 && std::string_view("'\"`(").find(word.front()) != std::string_view::npos)
    word.remove_prefix(1);
  return word;
}

std::string_view without_closing(std::string_view word) {
  while (word.size() > 1 && std::string_view("'\"`),.?!:;").find(word.back()) != std::string_view::npos)
    word.remove_suffix(1);
  return word;
}

}  // namespace

std::string grammar_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string span_grammar(std::string_view request, const std::vector<std::string>& keys) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (words.size() < kSpanWords) {
    at = request.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos) break;
    const auto end = std::min(request.find_first_of(" \t\r\n", at), request.size());
    words.push_back(request.substr(at, end - at));
    at = end;
  }
  if (words.empty() || keys.empty()) return {};

  std::string root = "root ::= " + grammar_literal("{");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    root += " " + grammar_literal((i > 0 ? ",\"" : "\"") + json_inner(keys[i]) + "\":\"") + " span " +
            grammar_literal("\"");
  }
  root += " " + grammar_literal("}") + "\n";

  // sN starts a run at word N, cN goes on with it.
  std::string span = "span ::= ";
  std::string rules;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto number = std::to_string(i);
    const auto rule = [&](std::string_view name, std::string_view word) {
      rules += std::string(name) + number + " ::= " + grammar_literal(json_inner(without_closing(word)));
      if (i + 1 < words.size())
        rules += " | " + grammar_literal(json_inner(word) + " ") + " c" + std::to_string(i + 1);
      rules += "\n";
    };
    rule("s", without_opening(words[i]));
    rule("c", words[i]);
    span += (i > 0 ? " | s" : "s") + number;
  }
  return root + span + "\n" + rules;
}

}  // namespace chela::infer
