#include "agent/dialects/parser.h"

#include <gtest/gtest.h>

#include "agent/dialects/inspect.h"
#include "agent/dialects/limits.h"
#include "agent/dialects/python_calls.h"
#include "agent/dialects/test_formats.h"
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

TEST(Formats, AllAreRead) {
  for (const WrittenCall& each : kWrittenCalls) {
    const Parser::Result result = read(each.text);
    EXPECT_EQ(shown(result.calls), kShell) << each.name;
    EXPECT_EQ(result.text, "") << each.name;
  }
}

TEST(Formats, WithTextAndThoughtsInFront) {
  for (const WrittenCall& each : kWrittenCalls) {
    if (each.text.starts_with('{') || each.text.starts_with("[shell")) continue;  // these are whole answers
    const Parser::Result result =
        read(fmt::format("<think>shell/command>rm x</think>\nLet me look.\n{}", each.text));
    EXPECT_EQ(shown(result.calls), kShell) << each.name;
    EXPECT_EQ(result.text, "Let me look.") << each.name;
  }
}

// Cut anywhere, a call is the whole one or none.
TEST(Formats, ACutCallIsNone) {
  for (const WrittenCall& each : kWrittenCalls) {
    for (size_t size = 0; size < each.text.size(); ++size) {
      const Parser::Result result = read(each.text.substr(0, size), Ending::kCut);
      if (!result.calls.empty()) EXPECT_EQ(shown(result.calls), kShell) << each.name << " cut at " << size;
    }
  }
}

TEST(Formats, QuotedTheyAreText) {
  for (const WrittenCall& each : kWrittenCalls) {
    for (const std::string& text :
         {fmt::format("It writes:\n~~~~text\n{}\n~~~~\nand so on.", each.text),
          fmt::format("It writes ````{}```` then.", each.text), fmt::format("`````\n{}\n`````", each.text)}) {
      const Parser::Result result = read(text);
      EXPECT_TRUE(result.calls.empty()) << each.name;
      EXPECT_EQ(result.text, text) << each.name;
    }
  }
}

// What a limit cut is shown to nobody, unless it may still be something else.
TEST(Formats, ACutCallIsNoText) {
  for (const WrittenCall& each : kWrittenCalls) {
    for (size_t size = 12; size < each.text.size(); ++size) {
      const Parser::Result result = read(fmt::format("Well:\n{}", each.text.substr(0, size)), Ending::kCut);
      if (each.text.starts_with('{') || each.text.starts_with("[shell")) continue;  // text behind other text
      // Up to three bytes may be anything's.
      EXPECT_TRUE(result.text == "Well:" || result.text.size() <= std::string_view("Well:\n<ab").size())
          << each.name << " cut at " << size << ": " << result.text;
    }
  }
  for (const std::string_view body :
       {R"({"name": "shell", "arguments": {"comm)", R"({"tool_calls": [{"id": "x)", R"([shell(command="l)"}) {
    EXPECT_EQ(read(body, Ending::kCut).text, "") << body;
    EXPECT_EQ(read(body, Ending::kCut).refused, Refused::kCut) << body;
  }
  for (const std::string_view body :
       {R"({"name": "Alice", "ag)", "[1, 2", "[a for a in (", R"(See <a href="x)"}) {
    EXPECT_EQ(read(body, Ending::kCut).text, body);
    EXPECT_EQ(read(body, Ending::kCut).refused, Refused::kNothing) << body;
  }
}

TEST(Formats, WhatWasMeantAsACallSaysSo) {
  for (const std::string_view text :
       {"<tool_call>{\"name\":\"nobody\"}</tool_call>", "<tool_call>not json at all</tool_call>tail",
        "\u25C1\n{\"name\": \"nobody\", \"arguments\": {}}\n\u25B7",
        "<tool_call>{\"name\":\"a\" oops}</tool_call>"})
    EXPECT_EQ(read(text).refused, Refused::kUnreadable) << text;
  for (const std::string_view text :
       {"plain", "The mark <tool_call> is text.", "`<tool_call>x</tool_call>`", "<think>x</think>y",
        "<tools>[{\"name\":\"a\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}]</tools>",
        "<tool_call>x</tool_call><tool_call>{\"name\":\"a\"}</tool_call>"})
    EXPECT_EQ(read(text).refused, Refused::kNothing) << text;
}

TEST(Formats, TheLastTriangleMayBeMissing) {
  EXPECT_EQ(calls_of("\u25C1\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n"), kShell);
  EXPECT_EQ(calls_of("\u25C1\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\nso"), "[]");
  EXPECT_EQ(read("\u25C1{\"name\": \"shell\", \"arguments\": {}}", Ending::kCut).calls.size(), 0u);
}

TEST(Formats, AnUnknownToolIsNone) {
  for (const WrittenCall& each : kWrittenCalls) {
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
  EXPECT_EQ(parser.feed("H"), "H");  // no tool begins so
  EXPECT_EQ(parser.feed("ello wor"), "ello wor");
  EXPECT_EQ(parser.feed("ld, 1 <"), "ld, 1");  // white space and the bracket wait
  EXPECT_EQ(parser.feed(" 2\n"), " < 2");
  EXPECT_EQ(parser.feed("<tool"), "");
  EXPECT_EQ(parser.feed("box> and <tool_ca"), "\n<toolbox> and");
  EXPECT_EQ(parser.feed("ll>{\"name\":\"shell\",\"argu"), "");
  EXPECT_EQ(parser.feed("ments\":{}}</tool_call> done"), "\ndone");
  EXPECT_EQ(parser.feed("\nshel"), "");  // a name, perhaps
  EXPECT_EQ(parser.feed("f"), "\nshelf");
  const Parser::Result result = parser.finish(Ending::kComplete);
  EXPECT_EQ(result.text, "Hello world, 1 < 2\n<toolbox> and\ndone\nshelf");
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

TEST(Thoughts, AreGivenApart) {
  Parser parser{ToolSet()};
  EXPECT_EQ(parser.feed("<think>one < tw"), "");
  EXPECT_EQ(parser.thoughts(), "one < tw");
  EXPECT_EQ(parser.feed("o</think>a<|think|>b<|/think|>"), "a");
  EXPECT_EQ(parser.thoughts(), "ob");
  EXPECT_EQ(parser.thoughts(), "");
}

TEST(Thoughts, TextThatWasShownStaysWhereFinalFollows) {
  Parser parser(ToolSet(), Final::kFollows);
  std::string shown = parser.feed("so <final>one</final> and");
  shown += parser.feed(" <final>two");
  const Parser::Result result = parser.finish(Ending::kComplete);
  EXPECT_EQ(shown + result.rest, "so\none\ntwo");
  EXPECT_EQ(result.text, "so\none\ntwo");
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
  for (const WrittenCall& each : kWrittenCalls) {
    for (size_t size = 0; size < each.text.size(); ++size) {
      Parser parser{ToolSet(test_tools())};
      parser.feed(each.text.substr(0, size));
    }
  }
}

// For who asks a model directly: nothing but calls, thoughts and tokens of a protocol is left out, however the text is cut.
Parser::Result shown_all(std::string_view text, size_t piece, Ending ending = Ending::kComplete,
                         ToolSet tools = ToolSet(test_tools())) {
  Parser parser(std::move(tools), Final::kFollows, Unread::kShown);
  std::string shown;
  for (size_t at = 0; at < text.size(); at += piece) shown += parser.feed(text.substr(at, piece));
  Parser::Result result = parser.finish(ending);
  EXPECT_EQ(shown + result.rest, result.text) << text;
  return result;
}

TEST(Shown, WhatCannotBeReadIsText) {
  for (const std::string_view text : {
           R"(So: <tool_call>{"name": "shell", "arguments": {"command": }}</tool_call> there.)",
           R"(<tool_call>{"name": "unknown", "arguments": {}}</tool_call>)",
           "```tool_call\n{\"name\": \"nobody\"}\n```\nAnd on.",
           "<function_calls><invoke name=\"nobody\"><parameter "
           "name=\"a\">1</parameter></invoke></function_calls>",
           "[TOOL_CALL]{tool => \"nobody\", args => {}}[/TOOL_CALL]",
           "\u25C1\n{\"name\": \"shell\", \"arguments\": \n\u25B7 more",
           R"(<tools>[{"name": "shell", "description": "runs"}]</tools> are mine.)",
           "  <FunctionCall>\nnobody\n<code>a>b</code>\n</FunctionCall>\n",
       }) {
    for (const size_t piece : {1u, 3u, 1000u}) {
      const Parser::Result result = shown_all(text, piece);
      EXPECT_EQ(result.text, text);
      EXPECT_TRUE(result.calls.empty()) << text;
    }
  }
  EXPECT_EQ(shown_all(R"(<tool_call>{"name": "nobody"}</tool_call>)", 4).refused, Refused::kUnreadable);
}

TEST(Shown, WhatWasCutIsText) {
  for (const WrittenCall& each : kWrittenCalls) {
    for (size_t size = 0; size < each.text.size(); size += 3) {
      const std::string text = fmt::format("Well:\n{}", each.text.substr(0, size));
      const Parser::Result result = shown_all(text, 5, Ending::kCut);
      // Tokens around a call are left out by themselves.
      if (!result.calls.empty() || each.text.starts_with("<|") || each.text.starts_with("<\uFF5C")) continue;
      EXPECT_EQ(result.text, text) << each.name;
    }
  }
}

TEST(Shown, CallsThoughtsAndTokensAreLeftOut) {
  for (const WrittenCall& each : kWrittenCalls) {
    const Parser::Result result = shown_all(each.text, 7);
    EXPECT_EQ(shown(result.calls), R"([{"arguments":{"command":"ls"},"name":"shell"}])") << each.name;
    EXPECT_EQ(result.text, "") << each.name;
  }
  EXPECT_EQ(shown_all("<think>hm</think>\n\n Yes. <|im_end|>", 2).text, "Yes.");
  EXPECT_EQ(shown_all("One <final>two</final> three.\n", 2).text, "One two three.\n");
}

TEST(Shown, WithoutToolsMarksAreText) {
  for (const WrittenCall& each : kWrittenCalls) {
    const std::string text = fmt::format(" {} \n", each.text);
    if (each.text.contains("<|") || each.text.contains("<\uFF5C")) continue;
    for (const Ending ending : {Ending::kComplete, Ending::kCut})
      EXPECT_EQ(shown_all(text, 4, ending, ToolSet()).text, text) << each.name;
  }
  // JSON comes as it is written.
  Parser parser(ToolSet(), Final::kFollows, Unread::kShown);
  EXPECT_EQ(parser.feed(R"({"name": "Ann)"), R"({"name": "Ann)");
}

TEST(Shown, ACallThatIsTooLargeIsText) {
  const std::string text = fmt::format(
      "<tool_call>{{\"name\": \"shell\", \"arguments\": {{\"command\": \"{}\"}}}}</tool_call> end ",
      std::string(kMaxCallBytes, 'x'));
  const Parser::Result result = shown_all(text, 50'000);
  EXPECT_TRUE(result.text == text);
  EXPECT_EQ(result.refused, Refused::kUnreadable);
}

TEST(Lines, AnIndentedLineThatIsNoCallHidesNothingBehindIt) {
  const Parser::Result result = read(
      "Look:\n      shell/{<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": "
      "\"ls\"}}</tool_call>");
  EXPECT_EQ(shown(result.calls), R"([{"arguments":{"command":"ls"},"name":"shell"}])");
  EXPECT_EQ(result.text, "Look:\n      shell/{");
}

// What models do to their own notation: each line is text, calls and what people read.
struct Odd {
  std::string_view text;
  std::string_view calls;
  std::string_view shown;
};

constexpr std::string_view kNoCalls = "[]";

TEST(Odd, IsReadOrRefusedButNeverAnotherCall) {
  const Odd cases[] = {
      // A value is given once.
      {"<function=shell><parameter=command>ls@parameter><parameter=command>rm@parameter>@function>", kNoCalls,
       ""},
      {R"(<tool_call>shell command="ls" command="rm"@tool_call>)", kNoCalls, ""},
      {"<tool_call>shell>\ncommand: ls\ncommand: rm@tool_call>", kNoCalls, ""},
      {"<tool_call>shell\n<arg_key>command@arg_key><arg_value>ls@arg_value><arg_key>command@arg_key><arg_"
       "value>rm@arg_value>@tool_call>",
       kNoCalls, ""},
      {R"([TOOL_CALL]{tool => "shell", args => {--command "ls" --command "rm"}}[/TOOL_CALL])", kNoCalls, ""},
      {"<FunctionCall>\nshell\n<code>command>ls\ncommand>rm@code>\n@FunctionCall>", kNoCalls, ""},
      {"<tool_call><shell><command>ls@command><command>rm@command>@shell>@tool_call>", kNoCalls, ""},
      // Parameters as elements, as attributes, in CDATA.
      {R"(<invoke name="shell"><command>ls@command>@invoke> x)", kShell, "x"},
      {R"(<tool_call><shell command="ls"/>@tool_call> x)", kShell, "x"},
      {R"(<tool_call><shell command="ls">@shell>@tool_call> x)", kNoCalls, "x"},
      {"<tool_call><shell><command><![CDATA[ls]]>@command>@shell>@tool_call>", kShell, ""},
      {"<tool_call><shell><![CDATA[ls]]>@shell>@tool_call>",
       R"([{"arguments":{"command":"ls"},"name":"shell"}])", ""},
      // Too much behind the value.
      {R"(<tool_call>{"name": "shell", "arguments": {"command": "ls"}}}@tool_call> after)", kShell, "after"},
      {R"(<tool_call>{"name": "shell", "arguments": {"command": "ls"}},]@tool_call> after)", kShell, "after"},
      {"<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n```\n@tool_call> after",
       kShell, "after"},
      {R"(<tool_call>{"name": "shell", "arguments": {"command": "ls"}}}}} and text)", kShell, "}}} and text"},
      {"````tool_call\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n````\nafter", kShell,
       "after"},
      // In a string of something else the mark is text.
      {R"(Data: {"x":"<tool_call>{\"name\": \"shell\", \"arguments\": {}}@tool_call>"} end)", kNoCalls,
       R"(Data: {"x":"<tool_call>{\"name\": \"shell\", \"arguments\": {}}@tool_call>"} end)"},
      // The text of a whole body is cleaned as any other.
      {R"({"tool_calls": [{"function": {"name": "shell", "arguments": {"command": "ls"}}}], "content": "<think>a@think>Hi <tool_call>{\"name\": \"shell\"}@tool_call>"})",
       kShell, "Hi"},
      // Characters that are none.
      {R"([shell(command="\ud800")])", kNoCalls, R"([shell(command="\ud800")])"},
      {R"([shell(command="\U00110000")])", kNoCalls, R"([shell(command="\U00110000")])"},
      {R"([shell(command="\ud83d\ude00")])", R"([{"arguments":{"command":"\ud83d\ude00"},"name":"shell"}])",
       ""},
      // White space of Unicode is none where JSON stands.
      {"<tool_call>\u00A0{\"name\": \"shell\"}@tool_call>x", kNoCalls, "x"},
      // Thoughts in other words.
      {"<think/>x <tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}@tool_call>", kShell,
       "x"},
      {"\u25C1think\u25B7shell/command>rm\u25C1/think\u25B7Hi", kNoCalls, "Hi"},
      {"[THINK]I [could] <b> run it[/THINK]Hi", kNoCalls, "Hi"},
      {"<seed:think>hm@seed:think>Hi", kNoCalls, "Hi"},
  };
  for (const Odd& each : cases) {
    const std::string text = strings::replace_all(std::string(each.text), "@", "</");
    const std::string expected = strings::replace_all(std::string(each.shown), "@", "</");
    for (const size_t piece : {1u, 2u, 5u, 1000u}) {
      Parser parser{ToolSet(test_tools())};
      for (size_t at = 0; at < text.size(); at += piece)
        parser.feed(std::string_view(text).substr(at, piece));
      const Parser::Result result = parser.finish(Ending::kComplete);
      EXPECT_EQ(shown(result.calls), json::canonical(*json::parse(each.calls))) << text;
      EXPECT_EQ(result.text, expected) << text;
    }
  }
}

TEST(Limits, StraysBehindAValue) {
  const auto with = [](size_t strays) {
    return fmt::format("<tool_call>{{\"name\":\"shell\"}}{}</tool_call>", std::string(strays, '}'));
  };
  EXPECT_EQ(read(with(kMaxStrayBytes)).text, "");
  EXPECT_EQ(read(with(kMaxStrayBytes + 1)).text, std::string(kMaxStrayBytes + 1, '}') + "</tool_call>");
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
