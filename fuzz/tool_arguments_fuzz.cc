// LINK tools_builtin
// Any text that a model writes as arguments is refused with a message or fits the schema; any result text stays inside its frame; any
// path and timestamp is taken or refused.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "schema/schema.h"
#include "tools/arguments.h"
#include "tools/builtin/json_query.h"
#include "tools/builtin/time_tool.h"
#include "tools/names.h"
#include "tools/result_text.h"

namespace {

using namespace chela;

const tools::ToolInfo& tool() {
  static const tools::ToolInfo info{
      .name = "fuzzed",
      .description = "",
      .parameters = tools::parameters(
          R"({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
                                      "path": {"type": "string", "maxLength": 50},
                                      "offset": {"type": "integer", "minimum": 1, "default": 1},
                                      "mode": {"type": "string", "enum": ["a", "b"]},
                                      "list": {"type": "array", "items": {"type": ["number", "null"]}},
                                      "more": {"type": "object", "properties": {"deep": {"type": "boolean", "default": true}}}}})")};
  return info;
}

void check_arguments(std::string_view text) {
  Result<json::Value> arguments = tools::parse_arguments(text);
  if (!arguments) return;
  if (const Result<> fits = tools::check_arguments(tool(), *arguments); !fits) {
    CHELA_CHECK(!fits.error().message.empty() && utf8::valid(fits.error().message), "a refusal says nothing");
    return;
  }
  CHELA_CHECK(schema::validate(tool().parameters, *arguments).has_value(),
              "accepted arguments do not fit the schema");
}

void check_frame(std::string_view text) {
  constexpr std::size_t kMax = 2000;
  constexpr std::string_view kClose = "</tool_output>";
  tools::ToolResult result = tools::ToolResult::text(std::string(text));
  result.taint = tools::Taint::kUntrusted;
  const tools::ResultText out = tools::result_text("fuzzed", result, kMax);
  CHELA_CHECK(out.text.size() <= kMax && utf8::valid(out.text) && utf8::valid(out.preview),
              "a result is too long or no text");
  CHELA_CHECK(out.text.find(kClose) == out.text.size() - kClose.size(), "a result closes its own frame");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_arguments(text);
  check_frame(text);
  static const json::Value value = *json::parse(R"({"a": [{"b": 1}], "c.d": null})");
  (void)tools::query(value, text);
  (void)tools::parse_timestamp(utf8::sanitize(text), "", 0);
  CHELA_CHECK(utf8::valid(tools::shown_name(text)), "a shown name is no text");
  return 0;
}
