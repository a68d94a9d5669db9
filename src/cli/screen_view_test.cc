#include "cli/screen_view.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::cli {
namespace {

using Expected = ChatView::Expected;

class ScreenViewTest : public ::testing::Test {
 protected:
  ScreenView::Options options() {
    return {.size = {.columns = 60, .rows = 24},
            .colour = tui::Colour::kOff,
            .write = [this](std::string_view bytes) { out_ += bytes; },
            .on_interrupt = [this] { ++interrupts_; },
            .on_suspend = [this] { ++suspends_; }};
  }
  // What was written since the last look, without what moves the cursor.
  std::string seen() {
    loop_.advance(kFrameInterval);
    std::string text;
    for (size_t i = 0; i < out_.size(); ++i) {
      if (out_[i] == '\x1b') {
        while (i + 1 < out_.size() && !std::isalpha(static_cast<unsigned char>(out_[i]))) ++i;
      } else if (out_[i] != '\r') {
        text += out_[i];
      }
    }
    out_.clear();
    return text;
  }
  void show(const std::string& type, const std::string& data) { view_.show(type, *json::parse(data)); }
  std::optional<std::string> line() { return *runtime::block_on(loop_, view_.next({})); }

  testing::ManualLoop loop_;
  tui::History history_;
  std::string out_;
  int interrupts_ = 0, suspends_ = 0;
  ScreenView view_{loop_, history_, options()};
};

TEST_F(ScreenViewTest, ALineIsTypedAndTaken) {
  view_.expect(Expected::kMessage);
  EXPECT_EQ(seen(), "› ");
  view_.feed("hello\r");
  EXPECT_EQ(line(), "hello");
  EXPECT_EQ(seen(), "› hello\n› ");
  EXPECT_EQ(history_.entries().back(), "hello");
  view_.feed("  \r");
  view_.feed("\x04");
  EXPECT_EQ(line(), std::nullopt);
}

TEST_F(ScreenViewTest, TextIsShownWhileItComesAndStaysOnce) {
  view_.expect(Expected::kNothing);
  seen();
  show("turn_started", "{}");
  EXPECT_EQ(seen(), "⠋ thinking 0.0s\n\n› ");
  show("stream_chunk", R"({"content": "one **tw"})");
  EXPECT_EQ(seen(), "one **tw\n\n› ");
  show("stream_chunk", R"({"content": "o**\nthree"})");
  EXPECT_EQ(seen(), "one **two**\nthree\n\n› ");
  show("response", R"({"content": "one **two**\nthree"})");
  show("turn_finished", R"({"state": "completed"})");
  EXPECT_EQ(seen(), "three\n\n› ");
}

TEST_F(ScreenViewTest, AStreamThatBeginsAgainGoesOnWhereItCan) {
  show("stream_chunk", R"({"content": "one "})");
  show("stream_reset", R"({"text": "one two "})");
  show("response", R"({"content": "one two three"})");
  EXPECT_EQ(seen(), "one two three\n› ");
  show("stream_chunk", R"({"content": "four"})");
  show("stream_reset", R"({"text": "five"})");
  show("response", R"({"content": "five"})");
  EXPECT_EQ(seen(), "\nfour\nThe answer begins again:\n\nfive\n› ");
}

TEST_F(ScreenViewTest, ToolsHaveTheirTime) {
  show("turn_started", "{}");
  show("tool_started", R"({"name": "http", "call_id": "1"})");
  seen();
  loop_.advance(1s);
  EXPECT_NE(seen().find("http 1.0s"), std::string::npos);
  loop_.advance(100s);
  EXPECT_NE(seen().find("http 1m 41s"), std::string::npos);
  show("tool_completed", R"({"name": "http", "call_id": "1", "success": true})");
  show("tool_result", R"({"name": "http", "call_id": "1", "preview": "first\nsecond \u001b[2J"})");
  show("tool_completed",
       R"({"name": "x", "call_id": "2", "success": false, "error": "no such tool", "duration_ms": 250})");
  const std::string text = seen();
  EXPECT_NE(text.find("● http 1m 41s\n  first second [2J\n× x 0.2s  no such tool\n"), std::string::npos)
      << text;
}

TEST_F(ScreenViewTest, TheWheelTurnsAtItsPace) {
  show("turn_started", "{}");
  EXPECT_NE(seen().find("⠋"), std::string::npos);
  loop_.advance(kSpinnerInterval - 2 * kFrameInterval);
  EXPECT_EQ(out_, "");
  loop_.advance(2 * kFrameInterval);
  EXPECT_NE(seen().find("⠙"), std::string::npos);
}

TEST_F(ScreenViewTest, AnIdleScreenIsNotPaintedAgain) {
  show("turn_started", "{}");
  show("turn_finished", R"({"state": "interrupted"})");
  EXPECT_NE(seen().find("interrupted"), std::string::npos);
  loop_.advance(10s);
  EXPECT_EQ(out_, "");
}

TEST_F(ScreenViewTest, AQuestionComesFirstAndTheDraftComesBack) {
  view_.expect(Expected::kMessage);
  view_.feed("a draft");
  show("approval_needed",
       R"({"tool_name": "shell", "description": "runs", "parameters": "{\"command\": \"ls\"}"})");
  view_.expect(Expected::kApproval);
  const std::string text = seen();
  EXPECT_NE(text.find("│ shell  runs"), std::string::npos) << text;
  EXPECT_NE(text.find("│ command: ls"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("y yes, a always, n no, v view all › ")) << text;
  view_.feed("x\r");
  EXPECT_EQ(line(), "x");
  view_.expect(Expected::kPlainAnswer);
  EXPECT_NE(seen().find("Please answer"), std::string::npos);
  view_.feed("y\r");
  EXPECT_EQ(line(), "y");
  view_.expect(Expected::kNothing);
  EXPECT_TRUE(seen().ends_with("› a draft"));
  EXPECT_TRUE(history_.entries().empty());
}

// What a command does may stand at its end.
TEST_F(ScreenViewTest, ALongParameterShowsBothEndsAndAllOfItOnRequest) {
  const std::string middle(1000, 'm');
  const json::Value asked = json::Value::object(
      {{"tool_name", "shell"},
       {"parameters",
        json::Value::object({{"command", "echo " + middle + "MIDDLE" + middle + " ; rm -rf ~"}})}});
  show("approval_needed", json::write(asked));
  std::string text = seen();
  EXPECT_NE(text.find("command: echo"), std::string::npos) << text;
  EXPECT_NE(text.find("rm -rf ~"), std::string::npos) << text;
  EXPECT_NE(text.find("1902"), std::string::npos) << text;
  EXPECT_EQ(text.find("MIDDLE"), std::string::npos);
  show("approval_whole", json::write(asked));
  text = seen();
  size_t letters = 0;
  for (const char c : text) letters += c == 'm' ? 1 : 0;
  EXPECT_GE(letters, 2000u);
}

TEST_F(ScreenViewTest, ACredentialIsNeitherShownNorKept) {
  show("auth_required",
       R"({"extension_name": "mail", "instructions": "Make a key.", "setup_url": "https://x.org"})");
  view_.expect(Expected::kSecret);
  view_.feed("hunter2\r");
  EXPECT_EQ(line(), "hunter2");
  const std::string text = seen();
  EXPECT_NE(text.find("mail wants a credential. Make a key.\nhttps://x.org\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  EXPECT_TRUE(history_.entries().empty());
}

TEST_F(ScreenViewTest, OnlySoManyLinesWait) {
  view_.expect(Expected::kNothing);
  for (int i = 0; i < 40; ++i) view_.feed("line\r");
  EXPECT_NE(seen().find("Too many messages wait already"), std::string::npos);
  int taken = 0;
  view_.end_of_input();
  while (line()) ++taken;
  EXPECT_EQ(taken, 32);
}

TEST_F(ScreenViewTest, KeysThatInterrupt) {
  view_.expect(Expected::kMessage);
  view_.feed("draft\x03");
  EXPECT_EQ(interrupts_, 0);
  view_.feed("\x03");
  EXPECT_EQ(interrupts_, 1);
  view_.feed("\x1b");
  loop_.advance(kEscapeDelay);
  EXPECT_EQ(interrupts_, 1) << "nothing runs";
  show("turn_started", "{}");
  view_.feed("\x1b");
  EXPECT_EQ(interrupts_, 1) << "it may be the beginning of a key's sequence";
  loop_.advance(kEscapeDelay);
  EXPECT_EQ(interrupts_, 2);
  view_.feed("\x1a");
  EXPECT_EQ(suspends_, 1);
}

TEST_F(ScreenViewTest, ForOneMessageOnlyQuestionsAreAsked) {
  ScreenView::Options quiet = options();
  quiet.prompt = ScreenView::Options::Prompt::kQuestions;
  ScreenView view(loop_, history_, quiet);
  view.expect(Expected::kNothing);
  view.feed("ignored\r");
  view.show("response", *json::parse(R"({"content": "the answer"})"));
  EXPECT_EQ(seen(), "the answer\n");
  view.expect(Expected::kApproval);
  EXPECT_EQ(seen(), "y yes, a always, n no, v view all › ");
  view.feed("y\r");
  EXPECT_EQ(*runtime::block_on(loop_, view.next({})), "y");
}

TEST_F(ScreenViewTest, NothingIsPaintedAfterTheEnd) {
  show("stream_chunk", R"({"content": "half"})");
  view_.close();
  EXPECT_EQ(seen(), "half\n");
  view_.feed("late");
  view_.note("late");
  EXPECT_EQ(seen(), "");
}

TEST_F(ScreenViewTest, ErrorsSayWhatToDo) {
  show("error", R"({"code": "unauthenticated", "message": "the key is wrong\u001b[2J"})");
  EXPECT_EQ(seen(),
            "chela: the key is wrong[2J\nNext step: look at the backend's key (chela config\n"
            "llm.api_key), then send it again.\n› ");
}

}  // namespace
}  // namespace chela::cli
