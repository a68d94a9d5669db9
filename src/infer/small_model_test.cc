#include "infer/small_model.h"

#include <gtest/gtest.h>

#include "infer/fake_models.h"
#include "infer/limits.h"

namespace chela::infer {
namespace {

class Small : public testing::Test {
 protected:
  Answer say(std::string text) {
    request_.messages.push_back({.role = Role::kUser, .content = std::move(text)});
    return answer();
  }
  // Adds the results of the last answer's calls.
  Answer tool_gives(std::string result) {
    request_.messages.push_back(
        {.role = Role::kTool, .content = std::move(result), .tool_call_id = last_.tool_calls.at(0).id});
    return answer();
  }

  FakeModels models_;
  ChatRequest request_{.model = "local/small",
                       .messages = {{.role = Role::kSystem, .content = "a long system text"}},
                       .tools = own_tools()};
  std::string shown_;

 private:
  Answer answer() {
    shown_.clear();
    auto made = model_.answer(request_, [this](std::string_view text) { shown_ += text; }, {});
    EXPECT_TRUE(made) << made.error().message;
    last_ = *made;
    request_.messages.push_back(
        {.role = Role::kAssistant, .content = last_.text, .tool_calls = last_.tool_calls});
    return last_;
  }

  int calls_ = 0;
  SmallModel model_{models_, parse_places(builtin_places()),
                    [this] { return "call_" + std::to_string(++calls_); }};
  Answer last_;
};

TEST_F(Small, ASumGoesToTheCalculatorAndComesBackVerbatim) {
  const auto asked = say("What is 17*23? Use the calculator.");
  ASSERT_EQ(asked.tool_calls.size(), 1U);
  EXPECT_EQ(asked.tool_calls[0].name, "calculator");
  EXPECT_EQ(asked.tool_calls[0].arguments, R"({"expression":"17*23"})");
  EXPECT_EQ(asked.finish, Finish::kToolCalls);
  EXPECT_EQ(shown_, "");
  EXPECT_EQ(tool_gives(R"({"result":391})").text, "17*23 = 391");
  EXPECT_EQ(shown_, "17*23 = 391");
}

TEST_F(Small, RemembersAndFindsAgain) {
  EXPECT_EQ(say("Remember that my dentist is on Friday at 9.").tool_calls.at(0).arguments,
            R"({"content":"my dentist is on Friday at 9","target":"memory"})");
  EXPECT_EQ(tool_gives(R"({"status":"written","path":"MEMORY.md"})").text,
            "I will remember: \"my dentist is on Friday at 9\"");
  const auto asked = say("When is my dentist?");
  EXPECT_EQ(asked.tool_calls.at(0).name, "memory_search");
  EXPECT_EQ(asked.tool_calls.at(0).arguments, R"({"query":"dentist"})");
  EXPECT_EQ(
      tool_gives(
          R"({"results":[{"content":"# Memory\n\nThe car is blue.\nmy dentist is on Friday at 9","score":1}]})")
          .text,
      "You told me: \"my dentist is on Friday at 9\"");
}

TEST_F(Small, ARecalledLineAnswersWithoutASearch) {
  const auto answer =
      say("<context>\n[time] 2026-11-22T10:00:00.000Z\n[memory] my dentist is on Friday at "
          "9\n</context>\n\nWhen is my dentist?");
  EXPECT_EQ(answer.text, "You told me: \"my dentist is on Friday at 9\"");
  EXPECT_TRUE(answer.tool_calls.empty());
}

TEST_F(Small, AnUnrelatedRecalledLineDoesNot) {
  EXPECT_EQ(say("<context>\n[memory] the car has a flat tyre\n</context>\n\nWhen is my dentist?")
                .tool_calls.at(0)
                .name,
            "memory_search");
}

TEST_F(Small, AnEmptySearchReadsTheLongTermMemoryOnce) {
  say("When is my dentist?");
  const auto second = tool_gives(R"({"results":[],"result_count":0})");
  ASSERT_EQ(second.tool_calls.size(), 1U);
  EXPECT_EQ(second.tool_calls[0].name, "memory_read");
  EXPECT_EQ(tool_gives("Error: there is no MEMORY.md").text,
            "I have nothing about \"dentist\" in my memory. Tell me: \"Remember that ...\".");
}

TEST_F(Small, AnErrorIsStatedPlainly) {
  say("read notes.txt");
  EXPECT_EQ(tool_gives("Error: there is no notes.txt").text, "That did not work: there is no notes.txt");
}

TEST_F(Small, AMissingPartIsAskedForAndJoined) {
  EXPECT_EQ(say("write a file").text, "Which file should I write to? Please write its name and the text.");
  EXPECT_EQ(say("notes.txt: buy milk").tool_calls.at(0).arguments,
            R"({"path":"notes.txt","content":"buy milk"})");
}

TEST_F(Small, AQuestionBackCanBeDropped) {
  say("write a file");
  EXPECT_EQ(say("never mind").text, "All right.");
}

TEST_F(Small, FreeChatGetsTheDefaultSystemTextAndNoSchemas) {
  EXPECT_EQ(
      say("<context>\n[time] 2026-11-22T10:00:00.000Z\n</context>\n\ntell me a story about a dragon").text,
      "a free answer");
  const auto& asked = models_.scripted().asked;
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_TRUE(asked[0].text.starts_with("You are a helpful AI assistant"));
  EXPECT_EQ(asked[1].text, "tell me a story about a dragon");
  EXPECT_EQ(models_.scripted().asked_with.sampling.max_tokens, kSmallAnswerTokens);
  EXPECT_EQ(shown_, "a free answer");
}

TEST_F(Small, EarlierTurnsComeAlongWhenTheyAreMeant) {
  say("tell me a story about a dragon");
  say("tell me more about it");
  EXPECT_EQ(models_.scripted().asked.size(), 4U);
  say("tell me a story about a king");
  EXPECT_EQ(models_.scripted().asked.size(), 2U);
}

TEST_F(Small, ALongTextIsCutToThePromptLimit) {
  say(std::string(40'000, 'x') + " story");
  std::size_t bytes = 0;
  for (const auto& turn : models_.scripted().asked) bytes += turn.text.size();
  EXPECT_LE(bytes / 4, kSmallPromptTokens);
}

TEST_F(Small, WordsForAForeignToolAreFewTokens) {
  request_.tools = {tool("play_music", {"title"}, {}, "Play a song or an artist on the speakers.")};
  models_.scripted().text = R"({"title":"Bohemian Rhapsody"})";
  const auto asked = say("play the song Bohemian Rhapsody on the speakers");
  ASSERT_EQ(asked.tool_calls.size(), 1U) << asked.text;
  EXPECT_EQ(asked.tool_calls[0].arguments, R"({"title":"Bohemian Rhapsody"})");
  EXPECT_EQ(models_.scripted().asked_with.sampling.max_tokens, kSpanAnswerTokens);
}

TEST_F(Small, ToolChoiceIsKept) {
  request_.tool_choice = ToolChoice::kNone;
  EXPECT_TRUE(say("What is 17*23?").tool_calls.empty());
  request_.tool_choice = ToolChoice::kRequired;
  EXPECT_FALSE(say("what time might it be where you are").tool_calls.empty());
}

TEST_F(Small, WithoutToolsThereAreNoCalls) {
  request_.tools.clear();
  EXPECT_EQ(say("What is 17*23?").text, "a free answer");
}

TEST_F(Small, WithoutAChatModelToolsStillWork) {
  models_.with_chat = false;
  EXPECT_EQ(say("What is 17*23?").tool_calls.size(), 1U);
}

TEST_F(Small, TwoResultsGiveTwoLines) {
  request_.messages.push_back({.role = Role::kUser, .content = "two sums"});
  request_.messages.push_back({.role = Role::kAssistant,
                               .tool_calls = {{"a", "calculator", R"({"expression":"1+1"})"},
                                              {"b", "calculator", R"({"expression":"2+2"})"}}});
  request_.messages.push_back({.role = Role::kTool, .content = "4", .tool_call_id = "b"});
  request_.messages.push_back({.role = Role::kTool, .content = "2", .tool_call_id = "a"});
  SmallModel model(models_, {}, [] { return std::string("x"); });
  const auto made = model.answer(request_, [](std::string_view) {}, {});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->text, "1+1 = 2\n2+2 = 4");
}

TEST_F(Small, AMessageWithoutTextIsRefused) {
  SmallModel model(models_, {}, [] { return std::string("x"); });
  const auto made = model.answer(request_, [](std::string_view) {}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
}

std::vector<Turn> dialogue(std::size_t turns) {
  std::vector<Turn> out;
  for (std::size_t i = 0; i < turns; ++i) {
    out.push_back({Role::kUser, "u" + std::to_string(i)});
    out.push_back({Role::kAssistant, "a" + std::to_string(i)});
  }
  return out;
}

TEST(ChatTurns, TheWindowMovesInSteps) {
  std::size_t changes = 0;
  std::string start;
  for (std::size_t count = 1; count <= 30; ++count) {
    const auto turns = chat_turns(dialogue(count), {.text = "x"});
    EXPECT_LE(turns.size(), 2 + 2 * kEarlierTurns);
    EXPECT_GE(turns.size(), 2 + 2 * std::min<std::size_t>(count, 2));
    if (turns[1].text != start) ++changes;
    start = turns[1].text;
  }
  EXPECT_LE(changes, 10U);
}

TEST(ChatTurns, MemoryLinesAreMarked) {
  const auto turns = chat_turns({}, {.memory = {"a b"}, .text = "x"});
  EXPECT_EQ(turns.back().text, "Facts that I told you earlier:\n- a b\n\nx");
}

}  // namespace
}  // namespace chela::infer
