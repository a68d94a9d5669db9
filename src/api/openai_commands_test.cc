#include "api/openai_commands.h"

#include <gtest/gtest.h>

#include "agent/turn/notes.h"
#include "base/strings.h"

namespace chela::api {
namespace {

using llm::Message;
using llm::Role;

// "u:hi a:hello" and back.
std::string folded(std::string_view script) {
  std::vector<Message> messages;
  for (const std::string_view each : strings::split(script, ' '))
    messages.push_back(
        {each.starts_with("u:") ? Role::kUser : Role::kAssistant, std::string(each.substr(2))});
  std::string out;
  for (const Message& message : without_commands(std::move(messages)))
    out +=
        (out.empty() ? "" : " ") + std::string(message.role == Role::kUser ? "u:" : "a:") + message.content;
  return out;
}

TEST(OpenAiCommands, TheirExchangesAreNoPartOfTheConversation) {
  EXPECT_EQ(folded("u:hi a:hello u:/help a:text u:on"), "u:hi a:hello u:on");
  EXPECT_EQ(folded("u:/nonsense a:Error u:on"), "u:on");
  EXPECT_EQ(folded("u:hi a:hello"), "u:hi a:hello");
  EXPECT_EQ(folded("u:hi a:hello u:/etc/passwd a:no u:on"), "u:hi a:hello u:/etc/passwd a:no u:on");
}

TEST(OpenAiCommands, WhatTheyDidIsDone) {
  EXPECT_EQ(folded("u:1 a:1 u:2 a:2 u:/undo a:Undone u:3"), "u:1 a:1 u:3");
  EXPECT_EQ(folded("u:1 a:1 u:2 a:2 u:/undo a:Undone u:/redo a:Redone u:3"), "u:1 a:1 u:2 a:2 u:3");
  EXPECT_EQ(folded("u:1 a:1 u:/undo a:Nothing u:/undo a:Undone u:/undo a:Nothing u:3"), "u:3");
  EXPECT_EQ(folded("u:1 a:1 u:2 u:also a:2 u:/clear a:cleared u:3 a:3 u:4"), "u:3 a:3 u:4");
}

TEST(OpenAiCommands, TheNewestMessageAndAnswersToQuestionsStay) {
  EXPECT_EQ(folded("u:1 a:1 u:/undo"), "u:1 a:1 u:/undo");
  EXPECT_EQ(folded("u:1 a:ask u:/yes a:done u:2"), "u:1 a:ask u:/yes a:done u:2");
}

// A decision is a part of the turn that asked, and goes with it.
TEST(OpenAiCommands, AnswersToQuestionsBelongToTheTurnThatAsked) {
  const Message question{Role::kAssistant, agent::turn::approval_text("shell", "Runs", json::Value())};
  const std::vector<Message> asked{{Role::kUser, "1"}, {Role::kAssistant, "1"}, {Role::kUser, "2"}, question};
  const auto after = [&asked](std::vector<Message> rest) {
    std::vector<Message> all = asked;
    all.insert(all.end(), rest.begin(), rest.end());
    return without_commands(std::move(all)).size();
  };
  const Message undo{Role::kUser, "/undo"};
  const Message undone{Role::kAssistant, "Undone to turn 1."};
  EXPECT_EQ(after({{Role::kUser, "yes"}, {Role::kAssistant, "done"}, undo, undone, {Role::kUser, "3"}}), 3u);
  EXPECT_EQ(after({{Role::kUser, "/yes"}, {Role::kAssistant, "done"}, undo, undone, {Role::kUser, "3"}}), 3u);
  EXPECT_EQ(after({{Role::kUser, "what?"},
                   question,
                   {Role::kUser, "no"},
                   {Role::kAssistant, "then not"},
                   undo,
                   undone,
                   {Role::kUser, "3"}}),
            3u);
  // An interrupt ends the turn that asked.
  EXPECT_EQ(after({{Role::kUser, "/interrupt"},
                   {Role::kAssistant, "Interrupted."},
                   {Role::kUser, "yes"},
                   {Role::kAssistant, "to what?"},
                   undo,
                   undone}),
            4u);
}

}  // namespace
}  // namespace chela::api
