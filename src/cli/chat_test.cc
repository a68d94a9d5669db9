#include "cli/chat.h"

#include <gtest/gtest.h>

#include "api/operations.h"
#include "base/strings.h"
#include "cli/local_client.h"
#include "cli/plain_view.h"
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

// A client of an engine that hangs: it never answers one operation.
class HangingClient final : public Client {
 public:
  HangingClient(runtime::EventLoop& loop, Client& client) : loop_(loop), client_(client) {}
  std::string hangs;  // the operation

  Task<Result<json::Value>> call(std::string operation, json::Value args, std::stop_token stop) override {
    if (operation != hangs) co_return co_await client_.call(operation, std::move(args), stop);
    (void)co_await runtime::sleep_for(loop_, 1h, stop);
    co_return fail(Code::kCancelled, "stopped");
  }
  Task<Result<std::unique_ptr<EventReader>>> open(std::string operation, json::Value args,
                                                  std::stop_token stop) override {
    if (operation != hangs) co_return co_await client_.open(operation, std::move(args), stop);
    (void)co_await runtime::sleep_for(loop_, 1h, stop);
    co_return fail(Code::kCancelled, "stopped");
  }
  Task<> close() override { return client_.close(); }

 private:
  runtime::EventLoop& loop_;
  Client& client_;
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
    PlainView view(output_,
                   options.flow == ChatOptions::Flow::kDialogue ? PlainView::Manner::kDialogue : manner_);
    Chat chat(loop_, hanging_, typed, view, std::move(options));
    for (const std::chrono::milliseconds at : breaks_)
      loop_.call_at(loop_.clock().steady() + at, [this] { engine_.cut_off(); });
    for (const std::chrono::milliseconds at : interrupts_)
      loop_.call_at(loop_.clock().steady() + at, [&chat] { chat.interrupt(); });
    const int code = runtime::block_on(loop_, chat.run());
    runtime::block_on(loop_, client_.close());
    return code;
  }
  static ChatOptions message(std::string text) { return {.message = std::move(text)}; }
  static ChatOptions terminal() {
    return {.input = ChatOptions::Input::kTerminal, .flow = ChatOptions::Flow::kDialogue};
  }

  testing::ManualLoop loop_;
  FakeEngine engine_{loop_};
  api::Services services_;
  op::Registry registry_;
  LocalClient client_{loop_, registry_, op::Principal{.realm = "default", .user = "u", .permissions = {"*"}}};
  HangingClient hanging_{loop_, client_};
  std::string out_, err_;
  Output output_{.out = [this](std::string_view t) { out_ += t; },
                 .err = [this](std::string_view t) { err_ += t; }};
  std::vector<std::chrono::milliseconds> interrupts_, breaks_;
  PlainView::Manner manner_ = PlainView::Manner::kReplies;
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
  manner_ = PlainView::Manner::kEvents;
  EXPECT_EQ(chat(message("17*23?")), 0);
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

TEST_F(ChatTest, AMessageIntoATurnThatWaitsForApprovalDoesNotWaitForEver) {
  engine_.script.push_back({.end = FakeEngine::Turn::End::kWhenReleased});
  engine_.pending = agent::PendingApproval{
      .request_id = "r", .thread_id = "active-cli", .turn_id = "turn-1", .tool_name = "write_file"};
  EXPECT_EQ(chat(message("and list the files")), 3);
  EXPECT_NE(err_.find("the message waits until this is answered"), std::string::npos);
  EXPECT_NE(err_.find("write_file"), std::string::npos);
  EXPECT_NE(err_.find("--thread active-cli"), std::string::npos);
  EXPECT_TRUE(engine_.decisions.empty());
}

TEST_F(ChatTest, APipesNextLineAnswersWhatWaited) {
  engine_.script.push_back({.end = FakeEngine::Turn::End::kWhenReleased});
  engine_.pending = agent::PendingApproval{.request_id = "r", .thread_id = "active-cli", .turn_id = "turn-1"};
  interrupts_ = {5s, 6s};
  EXPECT_EQ(chat({}, {"list the files", "no"}), 130);
  ASSERT_EQ(engine_.decisions.size(), 1u);
  EXPECT_EQ(engine_.decisions[0].second, agent::Decision::kDeny);
}

TEST_F(ChatTest, WithoutATerminalACredentialIsNotWaitedFor) {
  const FakeEngine::Turn asks{
      .events = {{"auth_required", parsed(R"({"extension_name": "github", "instructions": "make one"})")}}};
  engine_.script.push_back(asks);
  EXPECT_EQ(chat(message("issues?")), 3);
  EXPECT_EQ(out_, "");
  EXPECT_NE(err_.find("github wants a credential. make one"), std::string::npos);
  engine_.script.push_back(asks);
  EXPECT_EQ(chat({}, {"issues?"}), 3);
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

// An engine that takes a while to say that it has taken a message, when all of its answer is there already.
class SlowClient final : public Client {
 public:
  SlowClient(runtime::EventLoop& loop, Client& engine) : loop_(loop), engine_(engine) {}
  Task<Result<json::Value>> call(std::string operation, json::Value args, std::stop_token stop) override {
    Result<json::Value> answer = co_await engine_.call(std::move(operation), std::move(args), stop);
    if (const Result<> slept = co_await runtime::sleep_for(loop_, 10s, stop); !slept)
      co_return fail(slept.error());
    co_return answer;
  }
  Task<Result<std::unique_ptr<EventReader>>> open(std::string operation, json::Value args,
                                                  std::stop_token stop) override {
    return engine_.open(std::move(operation), std::move(args), std::move(stop));
  }
  Task<> close() override { return engine_.close(); }

 private:
  runtime::EventLoop& loop_;
  Client& engine_;
};

TEST_F(ChatTest, TheEndOfTheInputIsNotLostBehindManyEvents) {
  FakeEngine::Turn turn = completed("");
  for (int i = 0; i < 500; ++i)
    turn.events.insert(turn.events.begin(), {"stream_chunk", parsed(R"({"content": "x"})")});
  engine_.script.push_back(turn);
  ScriptedLines typed(loop_, {"a"});
  PlainView view(output_, PlainView::Manner::kReplies);
  SlowClient slow(loop_, client_);
  Chat chat(loop_, slow, typed, view, {});
  EXPECT_EQ(runtime::block_on(loop_, chat.run()), 0);
  runtime::block_on(loop_, client_.close());
}

TEST_F(ChatTest, OneInterruptLeavesAnEngineThatDoesNotAnswer) {
  for (const std::string_view each : {"chat::events", "chat::send"}) {
    hanging_.hangs = each;
    interrupts_ = {5s};
    const SteadyTime start = loop_.clock().steady();
    EXPECT_EQ(chat(message("x")), 130) << each;
    EXPECT_EQ(loop_.clock().steady() - start, 6s) << each;
    EXPECT_NE(err_.find("did not answer"), std::string::npos) << err_;
  }
  hanging_.hangs = "chat::events";
  EXPECT_EQ(chat(terminal(), {"x"}), 130);
}

TEST_F(ChatTest, TheSecondInterruptLeavesAtOnceAnEngineThatDoesNotAnswer) {
  hanging_.hangs = "chat::send";
  interrupts_ = {5s, 5100ms};
  SteadyTime start = loop_.clock().steady();
  EXPECT_EQ(chat(message("x")), 130);
  EXPECT_EQ(loop_.clock().steady() - start, 5100ms);
  // A turn that runs on an engine that has stopped meanwhile.
  hanging_.hangs = "chat::interrupt";
  engine_.script.push_back({.end = FakeEngine::Turn::End::kWhenReleased});
  start = loop_.clock().steady();
  EXPECT_EQ(chat(message("x")), 130);
  EXPECT_EQ(loop_.clock().steady() - start, 5100ms);
}

TEST_F(ChatTest, TheFirstInterruptEndsTheTurnTheSecondLeaves) {
  engine_.script.push_back({.end = FakeEngine::Turn::End::kWhenReleased});
  interrupts_ = {100ms, 200ms};
  EXPECT_EQ(chat(message("x")), 130);
  EXPECT_EQ(engine_.interrupted, (std::vector<std::string>{"active-cli"}));
}

TEST_F(ChatTest, ACommandsAnswerIsShownAndBeginsNoTurn) {
  engine_.command_reply = "pong!";
  EXPECT_EQ(chat(terminal(), {"/ping", "/quit"}), 0);
  EXPECT_EQ(out_, "> pong!\n> ");
  EXPECT_EQ(engine_.sent.at(0).content, "/ping");
}

TEST_F(ChatTest, ABrokenStreamIsTakenUpWhereItEnded) {
  engine_.script.push_back({.events = {{"stream_chunk", parsed(R"({"content": "one"})")}},
                            .end = FakeEngine::Turn::End::kWhenReleased});
  breaks_ = {100ms};
  interrupts_ = {500ms, 600ms};
  EXPECT_EQ(chat(message("x")), 130);
  ASSERT_EQ(engine_.subscribed.size(), 2u);
  EXPECT_EQ(engine_.subscribed[0].second, "");
  EXPECT_NE(engine_.subscribed[1].second, "");
}

TEST_F(ChatTest, AnEngineThatStaysAwayIsGivenUp) {
  engine_.script.push_back({.end = FakeEngine::Turn::End::kWhenReleased});
  loop_.call_at(loop_.clock().steady() + 100ms, [this] {
    engine_.max_subscribers = 0;
    engine_.cut_off();
  });
  EXPECT_EQ(chat(message("x")), 8);
  EXPECT_NE(err_.find("the engine has stopped"), std::string::npos) << err_;
  const std::vector<SteadyTime>& tries = engine_.refused_subscriptions;
  ASSERT_EQ(tries.size(), static_cast<size_t>(kMaxReconnects));
  std::chrono::milliseconds pause = kReconnectBase;
  for (size_t i = 1; i < tries.size(); ++i) {
    EXPECT_EQ(tries[i] - tries[i - 1], pause) << i;
    pause = std::min<std::chrono::milliseconds>(2 * pause, kReconnectCeiling);
  }
  EXPECT_EQ(pause, kReconnectCeiling);
}

TEST_F(ChatTest, AThreadThatGoesOnShowsItsPast) {
  engine_.known_threads = {"thread-7"};
  engine_.turns = {{.number = 0,
                    .id = "t",
                    .user_input = "before",
                    .response = "an answer",
                    .state = agent::TurnState::kCompleted}};
  ChatOptions options = terminal();
  options.thread = "thread-7";
  EXPECT_EQ(chat(options, {"/quit"}), 0);
  EXPECT_EQ(err_, "> before\n");
  EXPECT_EQ(out_, "an answer\n> ");
}

TEST_F(ChatTest, TheLatestThreadGoesOn) {
  engine_.script.push_back(completed("one"));
  ChatOptions options = message("x");
  options.thread = "latest";
  EXPECT_EQ(chat(options), 5);
  EXPECT_NE(err_.find("there is no thread yet"), std::string::npos);
  engine_.known_threads = {"thread-7"};
  EXPECT_EQ(chat(options), 0);
  EXPECT_EQ(engine_.sent.at(0).thread_id, "thread-7");
}

TEST_F(ChatTest, ModelsCannotSteerTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\xc2\x9b"
                      "c\xc3\xa9\n\t"),
            "a[2Jbc\xc3\xa9\n\t");
}

}  // namespace
}  // namespace chela::cli
