// LINK agent/dialects
// Any text of a model: how it is cut does not change what is shown and called, and only known tools are called.

#include <cstdint>
#include <string_view>

#include "agent/dialects/parser.h"
#include "base/check.h"
#include "base/json.h"

namespace {

using namespace chela;
using agent::dialects::Ending;
using agent::dialects::Parser;

const agent::dialects::ToolSet& tools() {
  static const agent::dialects::ToolSet set({
      {.name = "shell",
       .parameters = *json::parse(
           R"({"type": "object", "required": ["command"], "properties": {"command": {"type": "string"}}})")},
      {.name = "f.g",
       .parameters = *json::parse(
           R"({"type": "object", "properties": {"n": {"type": "integer"}, "list": {"type": "array"}}})")},
      {.name = "free"},
  });
  return set;
}

std::string summary(const std::vector<agent::dialects::Call>& calls) {
  std::string out;
  for (const agent::dialects::Call& each : calls)
    out += each.name + json::canonical(each.arguments) + each.id + "\n";
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = data[0] % 16 + 1;
  const Parser::Result whole = agent::dialects::parse(text, tools());
  for (const agent::dialects::Call& each : whole.calls)
    CHELA_CHECK(tools().find(each.name) != nullptr, "an unknown tool is called");

  Parser parser(tools());
  std::string shown;
  const bool has_final =
      text.find("inal") != std::string_view::npos || text.find("INAL") != std::string_view::npos;
  while (!text.empty()) {
    shown += parser.feed(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
  }
  const Parser::Result pieces = parser.finish(Ending::kComplete);
  CHELA_CHECK(pieces.text == whole.text && summary(pieces.calls) == summary(whole.calls),
              "the result depends on how the text is cut");
  CHELA_CHECK(has_final || shown + pieces.rest == whole.text, "what was shown is not the text");
  return 0;
}
