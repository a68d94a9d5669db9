// LINK infer
// Any text of a person, a tool or a client is safe to route and to answer; a shell command is only ever part of what was written.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "infer/answers.h"
#include "infer/arguments.h"
#include "infer/chat_request.h"
#include "infer/examples.h"
#include "infer/span_grammar.h"
#include "infer/user_message.h"

namespace infer = chela::infer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const infer::CueFinder cues;
  static const infer::ArgumentRules rules(infer::parse_places(infer::builtin_places()));
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto body = chela::json::parse(bytes)) (void)infer::parse_chat_request(*body);

  const std::string message = chela::utf8::sanitize(bytes.substr(0, 4096));
  const std::string text = infer::plain_quotes(infer::parse_user_message(message).text);
  const infer::Request request{text, "2026-11-22T10:00:00.000Z", cues.find(text)};
  for (const std::string_view tool : {"time", "calculator", "json", "echo", "memory_write", "memory_search",
                                      "memory_read", "read_file", "write_file", "list_dir", "shell"}) {
    const auto filled = rules.fill(tool, request);
    if (const auto* arguments = std::get_if<chela::json::Value>(&filled);
        arguments != nullptr && tool == "shell") {
      CHELA_CHECK(text.contains(*arguments->find("command")->as_string()), "a command that nobody wrote");
    }
  }
  (void)infer::span_grammar(text, {"a"});
  const auto result = infer::read_tool_result(message);
  for (const std::string_view tool : {"time", "calculator", "json", "memory_tree", "memory_write", "list_dir",
                                      "read_file", "shell", "other"}) {
    (void)infer::answer_from(tool, chela::json::Value(), result);
  }
  return 0;
}
