#include "cli/chat.h"

#include <gtest/gtest.h>

#include "api/operations.h"
#include "base/strings.h"
#include "cli/local_client.h"
#include "runtime/sleep.h"
#include "testing/fake_engine.h"
#include "testing/manual_loop.h"

namespace chela::cli {
namespace {

using testing::FakeEngine;

// Lines that a test gives beforehand, each after a pause: the next one comes when all that the last one led to has happened.
class ScriptedLines final : public Lines {
 public:
  ScriptedLines(runtime::EventLoop& loop, std::deque<std::string> lines)
      : loop_(loop), lines_(std::move(lines)) {}
  Task<Result<std::optional<std::string>>> next(std::stop_token stop) override {
    if (const Result<> slept = co_await runtime::sleep_for(loop_, 1s, stop); !slept)
      co_return std::optional<std::string>();
    if (lines_.empty()) co_return std::optional<std::string>();
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    co_return line;
  }

 private:
  runtime::EventLoop& loop_;
  std::deque<std::string> lines_;
};

json::Value parsed(std::string_view text) { return *json::parse(text); }

FakeEngine::Turn completed(const std::string& reply) {
  return {.events = {{"stream_chunk", json::Value::object({{"content", reply}})},
                     {"response", json::Value::object({{"content", reply}})},
                     {"turn_finished", parsed(R"({"state": "completed"})")}}};
}

class ChatTest : public ::testing::Test {
 protected:
  ChatTest() {
    services_.loop = &loop_;
    services_.engine = &engine_;
    EXPECT_TRUE(api::add_operations(registry_, services_));
  }

  int chat(ChatOptions options, std::deque<std::string> lines = {}) {
    ScriptedLines typed(loop_, std::move(lines));
    Chat chat(loop_, client_, typed, output_, std::move(options));
    for (const std::chrono::milliseconds at : interrupts_)
      loop_.call_at(loop_.clock().steady() + at, [&chat] { chat.interrupt(); });
    const int code = runtime::block_on(loop_, chat.run());
    runtime::block_on(loop_, client_.close());
    return code;
  }
  static ChatOptions message(std::string text) { return {.message = std::move(text)}; }
  static ChatOptions terminal() { return {.input = ChatOptions::Input::kTerminal}; }

  testing::ManualLoop loop_;
  FakeEngine engine_{loop_};
  api::Services services_;
  op::Registry registry_;
  LocalClient client_{loop_, registry_, op::Principal{.realm = "default", .user = "u", .permissions = {"*"}}};
  std::string out_, err_;
  Output output_{.out = [this](std::string_view t) { out_ += t; },
                 .err = [this](std::string_view t) { err_ += t; }};
  std::vector<std::chrono::milliseconds> interrupts_;
};

TEST_F(ChatTest, AMessagePrintsItsReplyOnly) {
  engine_.script.push_back(completed("391"));
  EXPECT_EQ(chat(message("17*23?")), 0);
  EXPECT_EQ(out_, "391\n");
  EXPECT_EQ(err_, "");
  EXPECT_EQ(engine_.sent.at(0).channel, "cli");
}

TEST_F(ChatTest, JsonIsTheTurnsEventsAsLines) {
  engine_.script.push_back(completed("391"));
  ChatOptions options = message("17*23?");
  options.format = ChatOptions::Format::kJson;
  EXPECT_EQ(chat(std::move(options)), 0);
  std::vector<std::string> types;
  for (const std::string_view line : strings::split(strings::trim(out_), '\n'))
    types.push_back(parsed(line).string_or("type"));
  EXPECT_EQ(types, (std::vector<std::string>{"stream_chunk", "response", "turn_finished"}));
}

TEST_F(ChatTest, FailuresAreTheErrorsExitCode) {
  engine_.script.push_back(
      {.events = {{"error", parsed(R"({"message": "no model", "code": "unavailable"})")},
                  {"turn_finished", parsed(R"({"state": "failed", "error": {"code": "unavailable"}})")}}});
  EXPECT_EQ(chat(message("x")), 8);
  EXPECT_EQ(err_, "chela: no model\n");
  ChatOptions options = message("x");
  options.thread = "none";
  EXPECT_EQ(chat(std::move(options)), 5);
  EXPECT_EQ(out_, "");
}

FakeEngine::Turn asking() {
  return {
      .events = {
          {"approval_needed",
           parsed(
               R"({"request_id": "r", "tool_name": "write_file", "description": "writes", "parameters": "{}"})")}}};
}

TEST_F(ChatTest, WithoutATerminalAQuestionStays) {
  engine_.script.push_back(asking());
  EXPECT_EQ(chat(message("write")), 3);
  EXPECT_NE(err_.find("write_file"), std::string::npos);
  EXPECT_NE(err_.find("--thread active-cli"), std::string::npos);
  EXPECT_TRUE(engine_.decisions.empty());
}

TEST_F(ChatTest, OnATerminalItIsAsked) {
  engine_.script.push_back(asking());
  engine_.pending = agent::PendingApproval{.request_id = "r", .thread_id = "active-cli", .turn_id = "turn-1"};
  EXPECT_EQ(chat(terminal(), {"write", "maybe", "a"}), 0);
  ASSERT_EQ(engine_.decisions.size(), 1u);
  EXPECT_EQ(engine_.decisions[0].second, agent::Decision::kAlways);
  EXPECT_NE(err_.find("Please answer"), std::string::npos);
}

TEST_F(ChatTest, OnATerminalTextIsShownAsItComes) {
  engine_.script.push_back({.events = {{"stream_chunk", parsed(R"({"content": "I look"})")},
                                       {"tool_started", parsed(R"({"name": "time"})")},
                                       {"stream_chunk", parsed(R"({"content": "ten"})")},
                                       {"response", parsed(R"({"content": "ten"})")},
                                       {"turn_finished", parsed(R"({"state": "completed"})")}}});
  EXPECT_EQ(chat(terminal(), {"time?", "/quit"}), 0);
  EXPECT_EQ(out_, "> I look\nten\n> ");
  EXPECT_EQ(err_, "  [time]\n");
}

TEST_F(ChatTest, APipesLinesWaitForEachOther) {
  engine_.script.push_back(completed("one"));
  engine_.script.push_back(completed("two"));
  EXPECT_EQ(chat({}, {"a", "", "b"}), 0);
  EXPECT_EQ(out_, "one\ntwo\n");
  EXPECT_EQ(engine_.sent.size(), 2u);
}

TEST_F(ChatTest, TheFirstInterruptEndsTheTurnTheSecondLeaves) {
  engine_.script.push_back({.end = FakeEngine::Turn::End::kWhenReleased});
  interrupts_ = {100ms, 200ms};
  EXPECT_EQ(chat(message("x")), 130);
  EXPECT_EQ(engine_.interrupted, (std::vector<std::string>{"active-cli"}));
}

TEST_F(ChatTest, NewBeginsAThread) {
  engine_.script.push_back(completed("one"));
  EXPECT_EQ(chat(terminal(), {"/new", "a", "/help", "/quit"}), 0);
  EXPECT_EQ(engine_.sent.at(0).thread_id, "thread-1");
}

TEST_F(ChatTest, ModelsCannotSteerTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\xc2\x9b"
                      "c\xc3\xa9\n\t"),
            "a[2Jbc\xc3\xa9\n\t");
}

}  // namespace
}  // namespace chela::cli
