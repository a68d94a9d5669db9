#include "agent/dialects/parser.h"

#include <gtest/gtest.h>

#include "agent/dialects/inspect.h"
#include "agent/dialects/limits.h"
#include "agent/dialects/python_calls.h"
#include "agent/dialects/test_tools.h"
#include "base/limits.h"

namespace chela::agent::dialects {
namespace {

Parser::Result read(std::string_view text, Ending ending = Ending::kComplete) {
  Parser parser(ToolSet(named_tools({"a", "b", "net.fetch", "fs::read", "my-tool"})));
  parser.feed(text);
  return parser.finish(ending);
}

std::string calls_of(std::string_view text) { return shown(read(text).calls); }

constexpr std::string_view kShell = R"([{"arguments":{"command":"ls"},"name":"shell"}])";

struct Format {
  std::string_view name;
  std::string_view text;
};

// Each is the call of the tool shell with the command ls.
constexpr Format kFormats[] = {
    {"triangles", "\u25C1\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n\u25B7"},
    {"OpenAI body",
     R"({"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}}]}}]})"},
    {"Hermes", "<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>"},
    {"tools", R"(<tools>{"name": "shell", "arguments": {"command": "ls"}}</tools>)"},
    {"tool_calls",
     R"(<tool_calls>[{"type": "function", "function": {"name": "shell", "arguments": {"command": "ls"}}}]</tool_calls>)"},
    {"function_calls",
     "<function_calls>\n<invoke name=\"shell\">\n<parameter "
     "name=\"command\">ls</parameter>\n</invoke>\n</function_calls>"},
    {"function_calls with a name space",
     "<antml:function_calls>\n<antml:invoke name=\"shell\">\n<antml:parameter "
     "name=\"command\">ls</antml:parameter>\n</antml:invoke>\n</antml:function_calls>"},
    {"Qwen3-Coder",
     "<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"},
    {"Qwen3-Coder without wrapper", "<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>"},
    {"Grok",
     R"(<xai:function_call name="shell"><xai:parameter name="command">ls</xai:parameter></xai:function_call>)"},
    {"GLM 4.5", "<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>"},
    {"Llama 3", R"(<|python_tag|>{"name": "shell", "parameters": {"command": "ls"}}<|eom_id|>)"},
    {"Llama 3 without tag", R"({"name": "shell", "parameters": {"command": "ls"}}<|eot_id|>)"},
    {"Llama's own tools", R"(<|python_tag|>shell.call(command="ls"))"},
    {"Llama 4", R"([shell(command="ls")])"},
    {"Llama 4 with marks", R"(<|python_start|>[shell(command="ls")]<|python_end|>)"},
    {"Mistral list", R"([TOOL_CALLS] [{"name": "shell", "arguments": {"command": "ls"}}])"},
    {"Mistral name", R"([TOOL_CALLS]shell{"command": "ls"})"},
    {"Mistral arguments", R"([TOOL_CALLS]shell[ARGS]{"command": "ls"})"},
    {"DeepSeek V3",
     "<\uFF5Ctool\u2581calls\u2581begin\uFF5C><\uFF5Ctool\u2581call\u2581begin\uFF5C>function<"
     "\uFF5Ctool\u2581sep\uFF5C>shell\n```json\n{\"command\": "
     "\"ls\"}\n```<\uFF5Ctool\u2581call\u2581end\uFF5C><\uFF5Ctool\u2581calls\u2581end\uFF5C>"},
    {"DeepSeek V3.1",
     "<\uFF5Ctool\u2581calls\u2581begin\uFF5C><\uFF5Ctool\u2581call\u2581begin\uFF5C>shell<"
     "\uFF5Ctool\u2581sep\uFF5C>{\"command\": "
     "\"ls\"}<\uFF5Ctool\u2581call\u2581end\uFF5C><\uFF5Ctool\u2581calls\u2581end\uFF5C>"},
    {"Cohere",
     "Action: ```json\n[\n  {\"tool_name\": \"shell\", \"parameters\": {\"command\": \"ls\"}}\n]\n```"},
    {"Granite", R"(<|tool_call|>[{"name": "shell", "arguments": {"command": "ls"}}])"},
    {"Phi-4", R"(<|tool_call|>[{"name": "shell", "arguments": {"command": "ls"}}]<|/tool_call|>)"},
    {"Phi-4 functools", R"(functools[{"name": "shell", "arguments": {"command": "ls"}}])"},
    {"fence", "```tool_call\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n```"},
    {"named fence", "```tool shell\n{\"command\": \"ls\"}\n```"},
    {"FunctionCall", "<FunctionCall>\nshell\n<code>command>ls</code>\n</FunctionCall>"},
    {"Perl", "[TOOL_CALL]{tool => \"shell\", args => {--command \"ls\"}}[/TOOL_CALL]"},
    {"GLM line", "shell/command>ls"},
    {"elements", "<tool_call><shell><command>ls</command></shell></tool_call>"},
};

TEST(Formats, AllAreRead) {
  for (const Format& each : kFormats) {
    const Parser::Result result = read(each.text);
    EXPECT_EQ(shown(result.calls), kShell) << each.name;
    EXPECT_EQ(result.text, "") << each.name;
  }
}

TEST(Formats, WithTextAndThoughtsInFront) {
  for (const Format& each : kFormats) {
    if (each.text.starts_with('{') || each.text.starts_with("[shell")) continue;  // these are whole answers
    const Parser::Result result =
        read(fmt::format("<think>shell/command>rm x</think>\nLet me look.\n{}", each.text));
    EXPECT_EQ(shown(result.calls), kShell) << each.name;
    EXPECT_EQ(result.text, "Let me look.") << each.name;
  }
}

// Cut anywhere, a call is the whole one or none.
TEST(Formats, ACutCallIsNone) {
  for (const Format& each : kFormats) {
    for (size_t size = 0; size < each.text.size(); ++size) {
      const Parser::Result result = read(each.text.substr(0, size), Ending::kCut);
      if (!result.calls.empty()) EXPECT_EQ(shown(result.calls), kShell) << each.name << " cut at " << size;
    }
  }
}

TEST(Formats, QuotedTheyAreText) {
  for (const Format& each : kFormats) {
    for (const std::string& text :
         {fmt::format("It writes:\n~~~~text\n{}\n~~~~\nand so on.", each.text),
          fmt::format("It writes ````{}```` then.", each.text), fmt::format("`````\n{}\n`````", each.text)}) {
      const Parser::Result result = read(text);
      EXPECT_TRUE(result.calls.empty()) << each.name;
      EXPECT_EQ(result.text, text) << each.name;
    }
  }
}

TEST(Formats, AnUnknownToolIsNone) {
  for (const Format& each : kFormats) {
    const std::string text = strings::replace_all(std::string(each.text), "shell", "shall");
    EXPECT_EQ(calls_of(text), "[]") << each.name;
  }
}

TEST(Formats, KimiNumbersItsCalls) {
  const Parser::Result result = read(
      "<|tool_calls_section_begin|><|tool_call_begin|>functions.shell:0<|tool_call_argument_begin|>{"
      "\"command\": \"ls\"}<|tool_call_end|>"
      "<|tool_call_begin|>functions.a:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_"
      "end|>");
  EXPECT_EQ(
      shown(result.calls),
      R"([{"arguments":{"command":"ls"},"id":"functions.shell:0","name":"shell"},{"arguments":{},"id":"functions.a:1","name":"a"}])");
  EXPECT_EQ(result.text, "");
}

TEST(Formats, CohereNumbersItsCalls) {
  EXPECT_EQ(
      calls_of(
          R"(<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[{"tool_call_id":"0","tool_name":"a","parameters":{"x":1}}]<|END_ACTION|>)"),
      R"([{"arguments":{"x":1},"id":"0","name":"a"}])");
}

TEST(Formats, SeveralCalls) {
  EXPECT_EQ(calls_of("<\uFF5Ctool\u2581call\u2581begin\uFF5C>a<\uFF5Ctool\u2581sep\uFF5C>{}<"
                     "\uFF5Ctool\u2581call\u2581end\uFF5C>\n<\uFF5Ctool\u2581call\u2581begin\uFF5C>b<"
                     "\uFF5Ctool\u2581sep\uFF5C>{\"k\":[1]}<\uFF5Ctool\u2581call\u2581end\uFF5C>"),
            R"([{"arguments":{},"name":"a"},{"arguments":{"k":[1]},"name":"b"}])");
  EXPECT_EQ(
      calls_of("[a(x=1, y='two', z=[True, None, {\"k\": -1.5}]), b()]"),
      R"([{"arguments":{"x":1,"y":"two","z":[true,null,{"k":-1.5}]},"name":"a"},{"arguments":{},"name":"b"}])");
  EXPECT_EQ(calls_of("[TOOL_CALLS]a{\"x\":1}[TOOL_CALLS]b{}"),
            R"([{"arguments":{"x":1},"name":"a"},{"arguments":{},"name":"b"}])");
  EXPECT_EQ(calls_of("<|python_tag|>{\"name\":\"a\",\"parameters\":{}}; {\"name\":\"b\",\"parameters\":{}}"),
            R"([{"arguments":{},"name":"a"},{"arguments":{},"name":"b"}])");
  EXPECT_EQ(calls_of("<tool_call>{\"name\":\"a\"}</tool_call>\n\n<tool_call>{\"name\":\"b\"}</tool_call>"),
            R"([{"arguments":{},"name":"a"},{"arguments":{},"name":"b"}])");
}

TEST(Names, MayHoldDotsColonsAndDashes) {
  for (const std::string_view name : {"net.fetch", "fs::read", "my-tool"}) {
    const std::string expected = fmt::format(R"([{{"arguments":{{"input":"v"}},"name":"{}"}}])", name);
    EXPECT_EQ(calls_of(fmt::format("<tool_call>{}>v</tool_call>", name)), expected);
    EXPECT_EQ(calls_of(fmt::format("{}/input>v", name)), expected);
    EXPECT_EQ(calls_of(fmt::format("[{}(input=\"v\")]", name)), expected);
    EXPECT_EQ(calls_of(fmt::format("<function={}>\n<parameter=input>v</parameter></function>", name)),
              expected);
    EXPECT_EQ(calls_of(fmt::format("[TOOL_CALLS]{}{{\"input\":\"v\"}}", name)), expected);
  }
}

TEST(Names, AnAliasNeverReplacesAKnownName) {
  constexpr std::string_view kText = "<tool_call>bash>ls</tool_call>";
  EXPECT_EQ(calls_of(kText), kShell);
  const Parser::Result known = parse(kText, ToolSet(named_tools({"bash"})));
  EXPECT_EQ(shown(known.calls), R"([{"arguments":{"command":"ls"},"name":"bash"}])");
  // Formats that name the tool in full know no other names.
  EXPECT_EQ(calls_of(R"(<tool_call>{"name":"bash","arguments":{"command":"ls"}}</tool_call>)"), "[]");
}

TEST(Names, OfMoreThanTheLimitAreNone) {
  const std::string name(kMaxNameBytes, 'n');
  const auto read_with = [](const std::string& tool) {
    return parse(fmt::format("<tool_call>{{\"name\":\"{}\"}}</tool_call>", tool), ToolSet({{.name = tool}}))
        .calls.size();
  };
  EXPECT_EQ(read_with(name), 1u);
  EXPECT_EQ(read_with(name + "n"), 0u);
}

TEST(Arguments, KeepTheirTypesWhereTheFormatHasThem) {
  EXPECT_EQ(calls_of(R"(<tool_call>{"name":"file_read","arguments":{"path":"a","limit":"20"}}</tool_call>)"),
            R"([{"arguments":{"limit":"20","path":"a"},"name":"file_read"}])");
  EXPECT_EQ(
      calls_of("<function=file_read><parameter=path>7</parameter><parameter=limit>20</parameter></function>"),
      R"([{"arguments":{"limit":20,"path":"7"},"name":"file_read"}])");
}

TEST(Arguments, PackedIntoStringsAreUnpacked) {
  std::string packed = R"({"k":1})";
  for (int wraps = 1; wraps <= kMaxStringWraps + 1; ++wraps) {
    std::string quoted;
    json::write_string_to(quoted, packed);
    packed = quoted;
    const std::string calls =
        calls_of(fmt::format(R"(<tool_call>{{"name":"a","arguments":{}}}</tool_call>)", packed));
    EXPECT_EQ(calls, wraps <= kMaxStringWraps ? R"([{"arguments":{"k":1},"name":"a"}])" : "[]") << wraps;
  }
  // A string that was cut is not taken for none.
  EXPECT_EQ(calls_of(R"(<tool_call>{"name":"a","arguments":"{\"k\": \"v"}</tool_call>)"), "[]");
}

TEST(Arguments, LineBreaksOfProgramsAreKept) {
  EXPECT_EQ(calls_of("<function=file_write><parameter=path>a</parameter><parameter=content>\n  if x:\n    "
                     "y\n</parameter></function>"),
            R"([{"arguments":{"content":"  if x:\n    y","path":"a"},"name":"file_write"}])");
}

TEST(Arguments, MarksInStringsAreText) {
  for (const std::string_view mark : {"</tool_call>", "<tool_call>", "```", "</invoke>", "<|eot_id|>",
                                      "[TOOL_CALLS]", "<think>", "\u25B7", "</think>"}) {
    const std::string json = fmt::format(R"({{"name":"shell","arguments":{{"command":"echo {}"}}}})", mark);
    const std::string expected =
        fmt::format(R"([{{"arguments":{{"command":"echo {}"}},"name":"shell"}}])", mark);
    EXPECT_EQ(calls_of("<tool_call>" + json + "</tool_call>"), expected);
    EXPECT_EQ(calls_of("```tool_call\n" + json + "\n```"), expected);
    EXPECT_EQ(calls_of("[TOOL_CALLS][" + json + "]"), expected);
    EXPECT_EQ(calls_of("\u25C1" + json + "\u25B7"), expected);
    EXPECT_EQ(calls_of(fmt::format("[shell(command=\"echo {}\")]", mark)), expected);
  }
}

TEST(Declarations, AreNoCalls) {
  const std::string tool =
      R"({"type":"function","function":{"name":"shell","description":"runs","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}})";
  for (const std::string& text :
       {"<tools>" + tool + "</tools>", "<tools>\n" + tool + "\n" + tool + "\n</tools>", "[" + tool + "]",
        "<tool_call>" + tool + "</tool_call>",
        std::string(R"(<tools>[{"name":"shell","parameters":{"type":"object","properties":{}}}]</tools>)"),
        std::string(R"({"name":"shell","description":"runs","input_schema":{"type":"object"}})")})
    EXPECT_EQ(calls_of(text), "[]") << text;
}

TEST(Text, ComesOutAsSoonAsItCannotBeACall) {
  Parser parser{ToolSet(test_tools())};
  EXPECT_EQ(parser.feed("Hello wor"), "Hello wor");
  EXPECT_EQ(parser.feed("ld, 1 <"), "ld, 1");  // white space and the bracket wait
  EXPECT_EQ(parser.feed(" 2\n"), " < 2");
  EXPECT_EQ(parser.feed("<tool"), "");
  EXPECT_EQ(parser.feed("box> and <tool_ca"), "\n<toolbox> and");
  EXPECT_EQ(parser.feed("ll>{\"name\":\"shell\",\"argu"), "");
  EXPECT_EQ(parser.feed("ments\":{}}</tool_call> done"), "\ndone");
  const Parser::Result result = parser.finish(Ending::kComplete);
  EXPECT_EQ(result.text, "Hello world, 1 < 2\n<toolbox> and\ndone");
  EXPECT_EQ(result.calls.size(), 1u);
}

TEST(Text, MentionsOfMarksStay) {
  for (const std::string_view text :
       {"Put it between <tool_call> and the end.", "The [TOOL_CALLS] token begins it", "a \u25C1 b \u25B7 c",
        "TOOL_CALL is a word", "Action: none"}) {
    EXPECT_EQ(read(text).text, text);
    EXPECT_TRUE(read(text).calls.empty());
  }
}

TEST(Thoughts, AreNeverText) {
  EXPECT_EQ(read("<think>a</think>b").text, "b");
  EXPECT_EQ(read("x\n\n<Thinking kind=\"deep\">a\n</THINKING >\n\ny").text, "x\n\ny");
  EXPECT_EQ(read("b<think>never closed").text, "b");
  EXPECT_EQ(read("stray</think> end").text, "stray end");
  EXPECT_EQ(read("<|think|>a<|/think|>b").text, "b");
  EXPECT_EQ(read("In `<think>` code and\n```\n<think>x</think>\n```").text,
            "In `<think>` code and\n```\n<think>x</think>\n```");
}

TEST(Thoughts, OnlyTheFinalAnswerCounts) {
  Parser parser{ToolSet()};
  EXPECT_EQ(parser.feed("so <final>one</final> and"),
            "soone");  // what was shown before is taken back by the end's text
  EXPECT_EQ(parser.feed(" <final>two"), "\ntwo");
  EXPECT_EQ(parser.finish(Ending::kComplete).text, "one\ntwo");
  EXPECT_EQ(read("a `<final>` b").text, "a `<final>` b");
}

TEST(Limits, ALargeCallEndsTheReading) {
  const auto call = [](size_t size) {
    const std::string frame = R"(<tool_call>{"name":"a","arguments":{"k":""}})";
    return fmt::format(R"(before <tool_call>{{"name":"a","arguments":{{"k":"{}"}}}}</tool_call> after)",
                       std::string(size - frame.size(), 'x'));
  };
  EXPECT_EQ(read(call(kMaxCallBytes - 100)).calls.size(), 1u);
  const Parser::Result large = read(call(kMaxCallBytes + 1));
  EXPECT_TRUE(large.calls.empty());
  EXPECT_EQ(large.text, "before");
}

TEST(Limits, JunkBetweenMarks) {
  const auto junk = [](size_t size) { return "<tool_call>" + std::string(size, 'j') + "</tool_call>"; };
  EXPECT_EQ(read(junk(kMaxJunkBytes - 1)).text, "");
  EXPECT_EQ(read(junk(kMaxJunkBytes)).text, junk(kMaxJunkBytes));
}

TEST(Limits, LongTagsAreText) {
  const auto tag = [](size_t size) { return "<think a=\"" + std::string(size, 'x') + "\">b"; };
  EXPECT_EQ(read(tag(kMaxTagBytes - 20)).text, "");
  EXPECT_EQ(read(tag(kMaxTagBytes)).text, tag(kMaxTagBytes));
}

TEST(Limits, LongWhiteSpaceIsNotHeldBack) {
  Parser parser{ToolSet()};
  EXPECT_EQ(parser.feed("a" + std::string(kMaxHeldSpaceBytes, ' ')), "a");
  EXPECT_EQ(parser.feed(" ").size(), kMaxHeldSpaceBytes + 1);
}

TEST(Limits, PiecesAreTakenInParts) {
  std::string text;
  while (text.size() < 3 * kMaxPieceBytes) text += "word <b>word</b>\n";
  text += "end";
  EXPECT_EQ(read(text).text, text);
}

TEST(Limits, PythonIsNotNestedDeeper) {
  const auto nested = [](int depth) {
    return fmt::format("(x={}{})", std::string(static_cast<size_t>(depth), '['),
                       std::string(static_cast<size_t>(depth), ']'));
  };
  EXPECT_TRUE(python_arguments(nested(kMaxPythonDepth)));
  EXPECT_FALSE(python_arguments(nested(kMaxPythonDepth + 2)));
}

TEST(Limits, PerlIsNotNestedDeeper) {
  const auto nested = [](int depth) {
    const auto braces = static_cast<size_t>(depth);
    return fmt::format("[TOOL_CALL]{}{}[/TOOL_CALL]", std::string(braces, '{'), std::string(braces, '}'));
  };
  EXPECT_EQ(read(nested(kMaxPerlDepth)).text, "");
  EXPECT_EQ(read(nested(kMaxPerlDepth + 1)).text, nested(kMaxPerlDepth + 1));
}

TEST(Limits, MarksThatAreRepeatedAreNotNested) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "<tool_call>";
  EXPECT_EQ(read(text).text, text);
  EXPECT_EQ(calls_of(text.substr(0, 1100) + "{\"name\":\"a\"}"), R"([{"arguments":{},"name":"a"}])");
}

TEST(Limits, CallsOfOneAnswer) {
  std::string text;
  for (size_t i = 0; i < kMaxAnswerCalls + 5; ++i) text += "<tool_call>{\"name\":\"a\"}</tool_call>";
  EXPECT_EQ(read(text).calls.size(), kMaxAnswerCalls);
}

TEST(Parsers, MayBeGivenUpAnywhere) {
  for (const Format& each : kFormats) {
    for (size_t size = 0; size < each.text.size(); ++size) {
      Parser parser{ToolSet(test_tools())};
      parser.feed(each.text.substr(0, size));
    }
  }
}

TEST(Inspect, WritesOneLineForEach) {
  EXPECT_EQ(
      inspect_line(
          R"({"text":"hi <tool_call>{\"name\":\"t\",\"id\":\"7\"}</tool_call>","tools":[{"name":"t","parameters":{}}]})"),
      R"({"text":"hi","calls":[{"name":"t","arguments":{},"id":"7"}]})");
  EXPECT_EQ(inspect_line(R"({"text":"plain","tools":[]})"), R"({"text":"plain","calls":[]})");
  EXPECT_EQ(inspect_line(R"({"tools":[]})"),
            R"({"text":"","calls":[],"error":"expected {\"text\": ..., \"tools\": [...]}"})");
  EXPECT_NE(inspect_line("{").find("\"error\""), std::string::npos);
}

}  // namespace
}  // namespace chela::agent::dialects
