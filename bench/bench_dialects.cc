// The dialects: megabytes per second of processor time that the parser takes apart, per format and for texts without calls, in pieces as a model streams them.
// Prints one JSON object. Usage: bench_dialects [--seconds N], all in all

#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "agent/dialects/parser.h"
#include "bench/arguments.h"

namespace chela::bench {
namespace {

using agent::dialects::Ending;
using agent::dialects::Parser;

constexpr size_t kTextBytes = 1024 * 1024;
constexpr size_t kPieceBytes = 4096;
constexpr double kMegabyte = 1e6;

struct Format {
  std::string_view name;
  std::string_view text;
};

// A command of a few lines, as agents write them.
constexpr std::string_view kCommand =
    "cd /srv/project && git log --oneline -n 20 | head && grep -rn main src/ | sort | uniq -c | sort -rn | "
    "head -20 && "
    "python3 -m pytest -q tests/unit -k 'not slow' --maxfail=1 && cmake --build build --target all";

std::string with_command(std::string_view format) {
  const size_t at = format.find('@');
  return std::string(format.substr(0, at)) + std::string(kCommand) + std::string(format.substr(at + 1));
}

// @ stands for the command.
constexpr Format kFormats[] = {
    {"prose",
     "The parser passes plain text on as it is. It has `code`, a list of things, 1 < 2, and ends "
     "here.\n@\n\n"},
    {"html", "<div class=\"a\"><p>Some <b>bold</b> and <i>other</i> text</p></div>\n@\n"},
    {"triangles", "Next.\n\u25C1\n{\"name\": \"shell\", \"arguments\": {\"command\": \"@\"}}\n\u25B7\n"},
    {"tool_call",
     "Next.\n<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"command\": \"@\"}}\n</tool_call>\n"},
    {"tools", "Next.\n<tools>{\"name\": \"shell\", \"arguments\": {\"command\": \"@\"}}</tools>\n"},
    {"elements", "Next.\n<tool_call><shell><command>@</command></shell></tool_call>\n"},
    {"function_calls",
     "Next.\n<function_calls>\n<invoke name=\"shell\">\n<parameter "
     "name=\"command\">@</parameter>\n</invoke>\n</function_calls>\n"},
    {"qwen3-coder",
     "Next.\n<tool_call>\n<function=shell>\n<parameter=command>\n@\n</parameter>\n</function>\n</"
     "tool_call>\n"},
    {"grok",
     "Next.\n<xai:function_call name=\"shell\"><parameter "
     "name=\"command\">@</parameter></xai:function_call>\n"},
    {"fence", "Next.\n```tool_call\n{\"name\": \"shell\", \"arguments\": {\"command\": \"@\"}}\n```\n"},
    {"function_call", "Next.\n<FunctionCall>\nshell\n<code>command>@</code>\n</FunctionCall>\n"},
    {"glm line", "Next.\nshell/command>@\n"},
    {"glm 4.5",
     "Next.\n<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>@</arg_value>\n</tool_call>\n"},
    {"perl", "Next.\n[TOOL_CALL]{tool => \"shell\", args => {--command \"@\"}}[/TOOL_CALL]\n"},
    {"llama 3", "<|python_tag|>{\"name\": \"shell\", \"parameters\": {\"command\": \"@\"}}<|eom_id|>\n"},
    {"python", "<|python_start|>[shell(command=\"@\")]<|python_end|>\n"},
    {"mistral", "[TOOL_CALLS][{\"name\": \"shell\", \"arguments\": {\"command\": \"@\"}}]\n"},
    {"deepseek",
     "<\uFF5Ctool\u2581call\u2581begin\uFF5C>shell<\uFF5Ctool\u2581sep\uFF5C>{\"command\": "
     "\"@\"}<\uFF5Ctool\u2581call\u2581end\uFF5C>\n"},
    {"kimi",
     "<|tool_call_begin|>functions.shell:0<|tool_call_argument_begin|>{\"command\": "
     "\"@\"}<|tool_call_end|>\n"},
    {"cohere", "Action: ```json\n[{\"tool_name\": \"shell\", \"parameters\": {\"command\": \"@\"}}]\n```\n"},
    {"granite", "<|tool_call|>[{\"name\": \"shell\", \"arguments\": {\"command\": \"@\"}}]\n"},
    {"unclosed", "<tool_call>"},
    {"unclosed names", "<tool_call>shell>@"},
    {"brackets", "[{[{[{"},
};

agent::dialects::ToolSet tools() {
  return agent::dialects::ToolSet(
      {{.name = "shell",
        .parameters = *json::parse(R"({"type": "object", "properties": {"command": {"type": "string"}}})")}});
}

// Time on the processor: what else the machine does is not the parser's.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

json::Value measure(const Format& format, double seconds) {
  std::string text;
  while (text.size() < kTextBytes) text += with_command(format.text);
  const agent::dialects::ToolSet known = tools();
  const double start = processor_seconds();
  size_t bytes = 0;
  size_t calls = 0;
  double took = 0;
  while (took < seconds) {
    Parser parser(known);
    for (size_t at = 0; at < text.size(); at += kPieceBytes)
      parser.feed(std::string_view(text).substr(at, kPieceBytes));
    calls = parser.finish(Ending::kComplete).calls.size();
    bytes += text.size();
    took = processor_seconds() - start;
  }
  return json::Value::object({{"format", format.name},
                              {"megabytes_per_second", static_cast<double>(bytes) / kMegabyte / took},
                              {"calls", calls}});
}

}  // namespace
}  // namespace chela::bench

int main(int argc, char** argv) {
  using namespace chela;
  const bench::Arguments arguments(argc, argv);
  json::Value out = json::Value::array();
  const double each_seconds = arguments.seconds / static_cast<double>(std::size(bench::kFormats));
  for (const bench::Format& each : bench::kFormats) out.push_back(bench::measure(each, each_seconds));
  fmt::print("{}\n", json::write_pretty(out));
  return 0;
}
