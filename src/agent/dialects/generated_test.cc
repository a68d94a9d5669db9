#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "agent/dialects/test_tools.h"

// Calls in every format, bent in many ways: however the text is cut, the result is the same, and no call says what nobody wrote.
namespace chela::agent::dialects {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int kVariants = 5'000;
#else
constexpr int kVariants = 100'000;
#endif
#else
constexpr int kVariants = 100'000;
#endif

using Random = std::mt19937;

size_t below(Random& random, size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }

template <size_t N>
std::string_view one_of(Random& random, const std::string_view (&list)[N]) {
  return list[below(random, N)];
}

constexpr std::string_view kMarks[] = {"<tool_call>",
                                       "</tool_call>",
                                       "<tool-call>",
                                       "</toolcall>",
                                       "<invoke>",
                                       "</invoke>",
                                       "<tools>",
                                       "</tools>",
                                       "<function_calls>",
                                       "</function_calls>",
                                       "<minimax:tool_call>",
                                       "</minimax:tool_call>",
                                       "<|tool_call|>",
                                       "<|/tool_call|>",
                                       "\u25C1",
                                       "\u25B7",
                                       "```",
                                       "```json\n",
                                       "```tool_call\n",
                                       "\n```\n",
                                       "<think>",
                                       "</think>",
                                       "<final>",
                                       "</final>",
                                       "<|python_tag|>",
                                       "<|eom_id|>",
                                       "[TOOL_CALLS]",
                                       "[ARGS]",
                                       "[TOOL_CALL]",
                                       "[/TOOL_CALL]",
                                       "TOOL_CALL\n",
                                       "\n/TOOL_CALL",
                                       "<FunctionCall>",
                                       "</FunctionCall>",
                                       "<code>",
                                       "</code>",
                                       "<\uFF5Ctool\u2581call\u2581begin\uFF5C>",
                                       "<\uFF5Ctool\u2581sep\uFF5C>",
                                       "<\uFF5Ctool\u2581call\u2581end\uFF5C>",
                                       "<|tool_call_begin|>",
                                       "<|tool_call_argument_begin|>",
                                       "<|tool_call_end|>",
                                       "<|START_ACTION|>",
                                       "<|END_ACTION|>",
                                       "Action: ",
                                       "functools[",
                                       "<function=shell>",
                                       "</function>",
                                       "<parameter=command>",
                                       "</parameter>",
                                       "<invoke name=\"shell\">",
                                       "<arg_key>",
                                       "</arg_key>",
                                       "<arg_value>",
                                       "</arg_value>",
                                       "shell/command>",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       "(",
                                       ")",
                                       "\"",
                                       "'",
                                       "\\",
                                       "`",
                                       "~~~\n",
                                       "\n",
                                       "\n\n",
                                       " "};
constexpr std::string_view kWords[] = {"The",          "call",   "is",   "a<b", "x > y", "`code`", "1/2",
                                       "input/output", "\u2013", "e.g.", "{}",  "[1]",   "and\n"};

std::string as_json(std::string_view text) {
  std::string out;
  json::write_string_to(out, text);
  return out;
}

struct Format {
  std::string_view name;
  // Whether any value can be written; else it must not hold the format's own marks.
  enum class Values { kAny, kPlain } values;
  std::string (*write)(std::string_view command);
};

std::string json_call(std::string_view command) {
  return fmt::format(R"({{"name": "shell", "arguments": {{"command": {}}}}})", as_json(command));
}

const Format kFormats[] = {
    {"triangles", Format::Values::kAny,
     [](std::string_view c) { return "\u25C1\n" + json_call(c) + "\n\u25B7"; }},
    {"message", Format::Values::kAny,
     [](std::string_view c) {
       return fmt::format(
           R"({{"content": "", "tool_calls": [{{"function": {{"name": "shell", "arguments": {}}}}}]}})",
           as_json(fmt::format(R"({{"command": {}}})", as_json(c))));
     }},
    {"list", Format::Values::kAny, [](std::string_view c) { return "[" + json_call(c) + "]"; }},
    {"tool_call", Format::Values::kAny,
     [](std::string_view c) { return "<tool_call>\n" + json_call(c) + "\n</tool_call>"; }},
    {"tools", Format::Values::kAny, [](std::string_view c) { return "<tools>" + json_call(c) + "</tools>"; }},
    {"elements", Format::Values::kPlain,
     [](std::string_view c) {
       return fmt::format("<tool_call><shell><command>{}</command></shell></tool_call>", c);
     }},
    {"invoke", Format::Values::kPlain,
     [](std::string_view c) {
       return fmt::format(
           "<function_calls>\n<invoke name=\"shell\">\n<parameter "
           "name=\"command\">{}</parameter>\n</invoke>\n</function_calls>",
           c);
     }},
    {"function", Format::Values::kPlain,
     [](std::string_view c) {
       return fmt::format(
           "<tool_call>\n<function=shell>\n<parameter=command>\n{}\n</parameter>\n</function>\n</tool_call>",
           c);
     }},
    {"grok", Format::Values::kPlain,
     [](std::string_view c) {
       return fmt::format(
           "<xai:function_call name=\"shell\"><parameter name=\"command\">{}</parameter></xai:function_call>",
           c);
     }},
    {"fence", Format::Values::kAny,
     [](std::string_view c) { return "```tool_call\n" + json_call(c) + "\n```"; }},
    {"named fence", Format::Values::kAny,
     [](std::string_view c) { return fmt::format("```tool shell\n{{\"command\": {}}}\n```", as_json(c)); }},
    {"FunctionCall", Format::Values::kPlain,
     [](std::string_view c) {
       return fmt::format("<FunctionCall>\nshell\n<code>command>{}</code>\n</FunctionCall>", c);
     }},
    {"glm", Format::Values::kPlain,
     [](std::string_view c) { return fmt::format("<tool_call>shell>{}</tool_call>", c); }},
    {"glm 4.5", Format::Values::kPlain,
     [](std::string_view c) {
       return fmt::format(
           "<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>", c);
     }},
    {"line", Format::Values::kPlain, [](std::string_view c) { return fmt::format("shell/command>{}", c); }},
    {"perl", Format::Values::kPlain,
     [](std::string_view c) {
       return fmt::format("TOOL_CALL\n{{tool => \"shell\", args => {{\n  --command \"{}\"\n}}}}\n/TOOL_CALL",
                          c);
     }},
    {"llama 3", Format::Values::kAny,
     [](std::string_view c) {
       return fmt::format(
           "<|python_tag|>{{\"name\": \"shell\", \"parameters\": {{\"command\": {}}}}}<|eom_id|>",
           as_json(c));
     }},
    {"python", Format::Values::kAny,
     [](std::string_view c) { return fmt::format("[shell(command={})]", as_json(c)); }},
    {"mistral", Format::Values::kAny,
     [](std::string_view c) { return "[TOOL_CALLS][" + json_call(c) + "]"; }},
    {"mistral named", Format::Values::kAny,
     [](std::string_view c) {
       return fmt::format("[TOOL_CALLS]shell[ARGS]{{\"command\": {}}}", as_json(c));
     }},
    {"deepseek v3", Format::Values::kAny,
     [](std::string_view c) {
       return fmt::format(
           "<\uFF5Ctool\u2581calls\u2581begin\uFF5C><\uFF5Ctool\u2581call\u2581begin\uFF5C>function<"
           "\uFF5Ctool\u2581sep\uFF5C>shell\n```json\n{{\"command\": "
           "{}}}\n```<\uFF5Ctool\u2581call\u2581end\uFF5C><\uFF5Ctool\u2581calls\u2581end\uFF5C>",
           as_json(c));
     }},
    {"deepseek v3.1", Format::Values::kAny,
     [](std::string_view c) {
       return fmt::format(
           "<\uFF5Ctool\u2581call\u2581begin\uFF5C>shell<\uFF5Ctool\u2581sep\uFF5C>{{\"command\": "
           "{}}}<\uFF5Ctool\u2581call\u2581end\uFF5C>",
           as_json(c));
     }},
    {"kimi", Format::Values::kAny,
     [](std::string_view c) {
       return fmt::format(
           "<|tool_calls_section_begin|><|tool_call_begin|>functions.shell:0<|tool_call_argument_begin|>{{"
           "\"command\": {}}}<|tool_call_end|><|tool_calls_section_end|>",
           as_json(c));
     }},
    {"cohere", Format::Values::kAny,
     [](std::string_view c) {
       return fmt::format(
           "Action: ```json\n[{{\"tool_name\": \"shell\", \"parameters\": {{\"command\": {}}}}}]\n```",
           as_json(c));
     }},
    {"cohere r7b", Format::Values::kAny,
     [](std::string_view c) {
       return fmt::format(
           "<|START_ACTION|>[{{\"tool_call_id\": \"0\", \"tool_name\": \"shell\", \"parameters\": "
           "{{\"command\": {}}}}}]<|END_ACTION|>",
           as_json(c));
     }},
    {"granite", Format::Values::kAny,
     [](std::string_view c) { return "<|tool_call|>[" + json_call(c) + "]"; }},
    {"phi-4", Format::Values::kAny, [](std::string_view c) { return "functools[" + json_call(c) + "]"; }},
};

const ToolSet& tools() {
  static const ToolSet set(test_tools());
  return set;
}

Parser::Result in_pieces(std::string_view text, Random& random, std::string& shown_text) {
  Parser parser(tools());
  while (!text.empty()) {
    const size_t size = 1 + below(random, below(random, 4) == 0 ? 64 : 5);
    shown_text += parser.feed(text.substr(0, size));
    text.remove_prefix(std::min(size, text.size()));
  }
  Parser::Result result = parser.finish(Ending::kComplete);
  shown_text += result.rest;
  return result;
}

std::string command_with(Random& random, Format::Values values) {
  std::string command = "echo " + std::to_string(below(random, 1000));
  if (values == Format::Values::kPlain) return command;
  for (size_t n = below(random, 3); n > 0; --n) command += one_of(random, kMarks);
  return command;
}

std::string words(Random& random) {
  std::string text;
  for (size_t n = below(random, 5); n > 0; --n) text += std::string(one_of(random, kWords)) + " ";
  return text;
}

// Bends a text: cuts it, takes a part out, puts a mark in or in the place of another.
void bend(std::string& text, Random& random) {
  const size_t at = below(random, text.size() + 1);
  switch (below(random, 5)) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text.erase(at, below(random, 8));
      break;
    case 2:
      text.insert(at, one_of(random, kMarks));
      break;
    case 3: {
      const std::string_view mark = one_of(random, kMarks);
      if (const size_t found = text.find(mark, at); found != std::string::npos)
        text.replace(found, mark.size(), one_of(random, kMarks));
      break;
    }
    default:
      text = std::string(one_of(random, kMarks)) + text + std::string(one_of(random, kMarks));
  }
}

void expect_same(std::string_view text, Random& random) {
  std::string seen;
  const Parser::Result whole = parse(text, tools());
  const Parser::Result pieces = in_pieces(text, random, seen);
  ASSERT_EQ(shown(whole.calls), shown(pieces.calls)) << text;
  ASSERT_EQ(whole.text, pieces.text) << text;
  if (text.find("inal>") == std::string_view::npos) ASSERT_EQ(seen, whole.text) << text;
}

TEST(Generated, WholeCallsAreRead) {
  Random random(1);
  for (int i = 0; i < kVariants / 5; ++i) {
    const Format& format = kFormats[below(random, std::size(kFormats))];
    const std::string command = command_with(random, format.values);
    const std::string text = format.write(command);
    const Parser::Result result = parse(text, tools());
    ASSERT_EQ(result.calls.size(), 1u) << format.name << "\n" << text;
    ASSERT_EQ(result.calls[0].arguments.string_or("command"), command) << format.name << "\n" << text;
    ASSERT_EQ(result.text, "") << format.name << "\n" << text;
    ASSERT_NO_FATAL_FAILURE(expect_same(text, random)) << format.name;
  }
}

// The calls of JSON formats carry what was written whole or nothing: a bent text never makes another command of it.
TEST(Generated, BentCallsAreTheSameHoweverTheyAreCut) {
  Random random(2);
  for (int i = 0; i < kVariants; ++i) {
    const Format& format = kFormats[below(random, std::size(kFormats))];
    std::string text = words(random);
    for (size_t n = 1 + below(random, 2); n > 0; --n)
      text += format.write(command_with(random, format.values)) + words(random);
    for (size_t n = 1 + below(random, 3); n > 0; --n) bend(text, random);
    ASSERT_NO_FATAL_FAILURE(expect_same(text, random)) << format.name;
  }
}

TEST(Generated, ACutCallIsNeverAnother) {
  Random random(3);
  for (int i = 0; i < kVariants / 2; ++i) {
    const Format& format = kFormats[below(random, std::size(kFormats))];
    const std::string command = command_with(random, format.values);
    const std::string text = format.write(command);
    Parser parser(tools());
    parser.feed(std::string_view(text).substr(0, below(random, text.size() + 1)));
    for (const Call& each : parser.finish(Ending::kCut).calls) {
      ASSERT_EQ(each.name, "shell") << text;
      ASSERT_EQ(each.arguments.string_or("command"), command) << text;
    }
  }
}

// Nests blocks in blocks: only that nothing breaks and that it is the same in pieces.
TEST(Generated, NestedMarks) {
  Random random(4);
  for (int i = 0; i < kVariants / 5; ++i) {
    std::string text;
    for (size_t n = 1 + below(random, 20); n > 0; --n) {
      text += below(random, 4) == 0 ? kFormats[below(random, std::size(kFormats))].write("ls")
                                    : std::string(one_of(random, kMarks));
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(text, random));
  }
}

}  // namespace
}  // namespace chela::agent::dialects
