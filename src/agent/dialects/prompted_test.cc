#include "agent/dialects/prompted.h"

#include <gtest/gtest.h>

#include "agent/dialects/test_tools.h"

namespace chela::agent::dialects {
namespace {

using llm::Message;
using llm::Role;

std::vector<llm::ToolSpec> specs() {
  return {{"shell", "Runs a command.", test_tool("shell", R"({"command": {"type": "string"}})").parameters}};
}

TEST(ToolInstructions, NameTheToolsAndTheMarks) {
  const std::string text = tool_instructions(specs());
  EXPECT_TRUE(text.starts_with("## Tool Use Protocol\n"));
  EXPECT_TRUE(text.contains("**shell**: Runs a command.\nParameters: `{\"type\":\"object\","));
  EXPECT_TRUE(
      text.contains("\u25C1\n{\"name\": \"tool_name\", \"arguments\": {\"parameter\": \"value\"}}\n\u25B7"));
  EXPECT_EQ(text, tool_instructions(specs()));
  EXPECT_EQ(tool_instructions({}), "");
}

TEST(PromptedMessages, AreTheConversationAsText) {
  PromptedMessages messages;
  messages.add({.role = Role::kSystem, .content = "You are."});
  messages.add({.role = Role::kUser, .content = "go"});
  messages.add({.role = Role::kAssistant,
                .content = "I look.",
                .tool_calls = {{"1", "shell", R"({"command":"ls"})"}, {"2", "shell", "oops"}}});
  messages.add({.role = Role::kTool, .content = "a\n</tool_result>", .tool_call_id = "1", .name = "shell"});
  messages.add({.role = Role::kTool, .content = "bad", .tool_call_id = "2", .name = "shell"},
               Outcome::kError);
  messages.add({.role = Role::kSystem, .content = "The last step."});
  messages.add({.role = Role::kAssistant, .content = "Done."});
  const std::vector<Message> expected = {
      {.role = Role::kSystem, .content = "You are."},
      {.role = Role::kUser, .content = "go"},
      {.role = Role::kAssistant,
       .content = "I look.\n\u25C1\n{\"name\": \"shell\", \"arguments\": {\"command\":\"ls\"}}\n\u25B7\n"
                  "\u25C1\n{\"name\": \"shell\", \"arguments\": \"oops\"}\n\u25B7"},
      {.role = Role::kUser,
       .content =
           "[Tool results]\n<tool_result name=\"shell\" status=\"ok\">\na\n<\\/tool_result>\n</tool_result>\n"
           "<tool_result name=\"shell\" status=\"error\">\nbad\n</tool_result>\n"},
      {.role = Role::kUser, .content = "The last step."},
      {.role = Role::kAssistant, .content = "Done."}};
  EXPECT_EQ(messages.take(), expected);
}

// What the model is shown of its own calls is what the parser reads.
TEST(PromptedMessages, CallsAreReadAsTheyAreShown) {
  for (const std::string_view arguments :
       {R"({"command":"ls \u25b7"})", R"({"command": "a\nb", "x": [1, {}]})", "{}"}) {
    PromptedMessages messages;
    messages.add({.role = Role::kAssistant, .tool_calls = {{"1", "shell", std::string(arguments)}}});
    const Parser::Result read = parse(messages.take().front().content, ToolSet(test_tools()));
    ASSERT_EQ(read.calls.size(), 1u) << arguments;
    EXPECT_EQ(read.calls[0].arguments, *json::parse(arguments));
    EXPECT_EQ(read.text, "");
  }
}

TEST(PromptedMessages, AChoiceIsSaid) {
  const auto said = [](llm::ToolChoice choice, const std::string& name) {
    PromptedMessages messages;
    messages.add_choice(choice, name);
    const std::vector<Message> all = messages.take();
    return all.empty() ? std::string() : all.back().content;
  };
  EXPECT_EQ(said(llm::ToolChoice::kAuto, ""), "");
  EXPECT_EQ(said(llm::ToolChoice::kRequired, ""), "Answer with a call of a tool.");
  EXPECT_EQ(said(llm::ToolChoice::kAuto, "shell"), "Answer with a call of the tool shell.");
  EXPECT_EQ(said(llm::ToolChoice::kNone, ""), "Answer in plain text, without calling tools.");
}

TEST(Prompted, ARequestOfAClientSaysItAllInText) {
  llm::Request request{.messages = {{.role = Role::kUser, .content = "go"},
                                    {.role = Role::kAssistant, .tool_calls = {{"1", "shell", "{}"}}},
                                    {.role = Role::kTool, .content = "done", .tool_call_id = "1"}},
                       .tools = specs(),
                       .tool_choice = llm::ToolChoice::kRequired};
  request.sampling.parallel_tool_calls = true;
  const llm::Request said = prompted(request);
  ASSERT_EQ(said.messages.size(), 5u);
  EXPECT_EQ(said.messages[0], (Message{.role = Role::kSystem, .content = tool_instructions(specs())}));
  EXPECT_EQ(said.messages[3].content,
            "[Tool results]\n<tool_result name=\"shell\" status=\"ok\">\ndone\n</tool_result>\n");
  EXPECT_EQ(said.messages[4].content, "Answer with a call of a tool.");
  EXPECT_TRUE(said.tools.empty());
  EXPECT_EQ(said.tool_choice, llm::ToolChoice::kAuto);
  EXPECT_FALSE(said.sampling.parallel_tool_calls);

  request.messages.insert(request.messages.begin(), Message{.role = Role::kSystem, .content = "Be brief."});
  EXPECT_EQ(prompted(request).messages[0].content, "Be brief.\n\n---\n\n" + tool_instructions(specs()));
}

TEST(Prompted, WithoutToolsNothingIsAdded) {
  const llm::Request request{.messages = {{.role = Role::kUser, .content = "go"}}};
  EXPECT_EQ(prompted(request).messages, request.messages);
}

}  // namespace
}  // namespace chela::agent::dialects
