#include "agent/engine_test_fixture.h"
#include "agent/limits.h"
#include "testing/turn_log_proxy.h"

namespace chela::agent {
namespace {

const std::string kValue = "ghp_0123456789-the-value";

// Asks for the credential of its argument `name`.
class AskingTool final : public tools::Tool {
 public:
  AskingTool() {
    info_.name = "needs";
    info_.parameters = json::Value::object({{"type", "object"}});
    info_.idempotence = tools::Idempotence::kRepeatable;
  }
  const tools::ToolInfo& info() const override { return info_; }
  tools::Approval approval(const json::Value&) const override { return tools::Approval::kNever; }
  Task<Result<tools::ToolResult>> call(tools::ToolContext, json::Value arguments) override {
    tools::ToolResult result;
    result.credential = tools::CredentialRequest{.name = arguments.string_or("name", "github"),
                                                 .instructions = "make one",
                                                 .auth_url = "https://example.org/auth",
                                                 .replacing = arguments.bool_or("replace", false)
                                                                  ? tools::Replacing::kExisting
                                                                  : tools::Replacing::kNothing};
    co_return result;
  }

 private:
  tools::ToolInfo info_;
};

class InboundHook final : public hooks::Hook {
 public:
  Task<Result<hooks::Verdict>> run(hooks::Point, hooks::Event event, std::stop_token) override {
    heard.push_back(event.content);
    co_return hooks::Verdict{};
  }
  std::vector<std::string> heard;
};

class AuthTest : public EngineTest {
 protected:
  AuthTest() { EXPECT_TRUE(parts_.tools.add(std::make_unique<AskingTool>(), "test")); }

  // A turn that waits for the credential.
  Accepted asked(std::string arguments = "{}") {
    provider_.call({{"a", "needs", std::move(arguments)}});
    provider_.say("thank you");
    const auto accepted = send("go");
    EXPECT_TRUE(accepted);
    const TurnOutcome waiting = outcome(*accepted);
    EXPECT_EQ(waiting.state, TurnState::kAwaitingAuth);
    return *accepted;
  }
  std::string tool_result() { return provider_.requests.back().messages.back().content; }
  std::string log_text(const std::string& thread) {
    return json::write(*run(engine().log(kScope, thread, 0, 1000)));
  }
  void expect_replays(const std::string& thread) {
    const auto report = run(engine().replay(kScope, thread, 0));
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->differences.empty()) << report->differences.front();
  }
};

TEST_F(AuthTest, TheNextMessageGoesToTheVaultAndNowhereElse) {
  const auto hook = std::make_shared<InboundHook>();
  parts_.hooks.add({.name = "h", .points = {hooks::Point::kBeforeInbound}, .hook = hook});
  const Accepted turn = asked();
  auto events = run(engine().subscribe(kScope, turn.thread_id, "0.0"));
  const auto history = run(engine().history(kScope, turn.thread_id, 10, {}));
  ASSERT_TRUE(history->pending_auth);
  EXPECT_EQ(history->pending_auth->name, "github");
  EXPECT_EQ(history->pending_auth->auth_url, "https://example.org/auth");
  EXPECT_EQ(history->turns.back().state, TurnState::kAwaitingAuth);

  const auto given = send("  " + kValue + "\n", turn.thread_id, "key");
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(given->turn_id, turn.turn_id);
  EXPECT_EQ(outcome(turn).reply, "thank you");
  EXPECT_EQ(parts_.vault.values.at("u1/github"), kValue);
  EXPECT_NE(tool_result().find("credential stored"), std::string::npos);

  EXPECT_EQ(hook->heard, std::vector<std::string>{"go"});
  EXPECT_EQ(log_text(turn.thread_id).find("ghp_"), std::string::npos);
  for (const llm::Request& request : provider_.requests)
    EXPECT_EQ(json::write(llm::to_json(request)).find("ghp_"), std::string::npos);
  const auto after = run(engine().history(kScope, turn.thread_id, 10, {}));
  EXPECT_FALSE(after->pending_auth);
  EXPECT_TRUE(after->turns.back().steered.empty());
  std::vector<std::string> types;
  while (const std::optional<Event> event = run((*events)->next({}))) {
    EXPECT_EQ(json::write(event->data).find("ghp_"), std::string::npos);
    if (event->type.starts_with("auth_")) types.push_back(event->type);
    if (event->type == "turn_finished") break;
  }
  EXPECT_EQ(types, (std::vector<std::string>{"auth_required", "auth_completed"}));
  // The same message once more is no message to the agent.
  const auto again = send("  " + kValue + "\n", turn.thread_id, "key");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->duplicate);
  EXPECT_EQ(provider_.requests.size(), 2u);
  expect_replays(turn.thread_id);
}

TEST_F(AuthTest, CommandsThatLookLeaveItAsked) {
  const Accepted turn = asked();
  EXPECT_EQ(send("/ping", turn.thread_id)->reply, "pong!");
  EXPECT_NE(send("/status", turn.thread_id)->reply->find("waits for the credential github"),
            std::string::npos);
  EXPECT_NE(send("/help me", turn.thread_id)->reply->find("Error"), std::string::npos);
  EXPECT_TRUE(run(engine().history(kScope, turn.thread_id, 10, {}))->pending_auth);
  ASSERT_TRUE(send(kValue, turn.thread_id));
  EXPECT_EQ(outcome(turn).reply, "thank you");
  expect_replays(turn.thread_id);
}

TEST_F(AuthTest, AValueThatLooksLikeACommandIsTheValue) {
  const Accepted turn = asked();
  auto events = run(engine().subscribe(kScope, turn.thread_id, ""));
  const auto given = send("/k3yABC", turn.thread_id);
  ASSERT_TRUE(given);
  EXPECT_FALSE(given->reply);
  EXPECT_EQ(parts_.vault.values.at("u1/github"), "/k3yABC");
  EXPECT_EQ(outcome(turn).reply, "thank you");
  while (const std::optional<Event> event = run((*events)->next({}))) {
    EXPECT_EQ(json::write(event->data).find("k3yABC"), std::string::npos);
    if (event->type == "turn_finished") break;
  }
  EXPECT_NE(send("/k3yABC", turn.thread_id)->reply->find("no command"), std::string::npos);
}

TEST_F(AuthTest, ItExpiresAfterTenMinutes) {
  const Accepted turn = asked();
  auto events = run(engine().subscribe(kScope, turn.thread_id, ""));
  loop_.advance(kCredentialTimeout - 1ms);
  EXPECT_TRUE(run(engine().history(kScope, turn.thread_id, 10, {}))->pending_auth);
  loop_.advance(1ms);
  EXPECT_EQ(outcome(turn).reply, "thank you");
  EXPECT_NE(tool_result().find("expired"), std::string::npos);
  const std::optional<Event> event = run((*events)->next({}));
  EXPECT_EQ(event->type, "auth_completed");
  EXPECT_FALSE(event->data.bool_or("success", true));
  expect_replays(turn.thread_id);
}

TEST_F(AuthTest, AnEndThatCannotBeRecordedIsTriedAgain) {
  testing::TurnLogProxy log(loop_, parts_.database().turn_log());
  parts_.log = &log;
  restart();
  const Accepted turn = asked();
  const auto waits = [&] {
    return run(engine().history(kScope, turn.thread_id, 10, {}))->pending_auth.has_value();
  };
  log.refuse = Error{.code = Code::kUnavailable, .message = "the disk is full"};
  loop_.advance(kCredentialTimeout);
  loop_.run_ready();
  EXPECT_TRUE(waits());
  log.refuse.reset();
  loop_.advance(kCredentialRetry - 1ms);
  EXPECT_TRUE(waits());
  loop_.advance(1ms);
  EXPECT_EQ(outcome(turn).reply, "thank you");
  EXPECT_FALSE(waits());
  parts_.log = nullptr;
  restart();
}

TEST_F(AuthTest, ARestartKeepsTheQuestionAndItsTime) {
  const Accepted turn = asked();
  restart();
  EXPECT_TRUE(run(engine().history(kScope, turn.thread_id, 10, {}))->pending_auth);
  ASSERT_TRUE(run(engine().give_credential(kScope, "github", kValue)));
  EXPECT_EQ(parts_.vault.values.at("u1/github"), kValue);
  EXPECT_EQ(outcome(turn).reply, "thank you");
  expect_replays(turn.thread_id);
}

TEST_F(AuthTest, ItExpiresAlsoAfterARestart) {
  const Accepted turn = asked();
  restart();
  loop_.advance(std::chrono::minutes(11));
  EXPECT_EQ(outcome(turn).reply, "thank you");
  EXPECT_NE(tool_result().find("expired"), std::string::npos);
}

TEST_F(AuthTest, ByNameFromElsewhere) {
  const Accepted turn = asked();
  EXPECT_EQ(run(engine().give_credential(kScope, "other", "x")).error().code, Code::kNotFound);
  EXPECT_EQ(run(engine().give_credential({"default", "u2", ""}, "github", "x")).error().code,
            Code::kNotFound);
  EXPECT_EQ(run(engine().cancel_credential({"default", "u2", ""}, "github")).error().code, Code::kNotFound);
  ASSERT_TRUE(run(engine().cancel_credential(kScope, "github")));
  EXPECT_EQ(outcome(turn).reply, "thank you");
  EXPECT_EQ(run(engine().give_credential(kScope, "github", "x")).error().code, Code::kNotFound);
  EXPECT_TRUE(parts_.vault.values.empty());
}

TEST_F(AuthTest, WhatCannotBeKeptIsAskedForStill) {
  const Accepted turn = asked();
  EXPECT_EQ(send(std::string(kMaxCredentialBytes + 1, 'x'), turn.thread_id).error().code, Code::kTooLarge);
  EXPECT_TRUE(run(engine().history(kScope, turn.thread_id, 10, {}))->pending_auth);
  ASSERT_TRUE(send(std::string(kMaxCredentialBytes, 'x'), turn.thread_id));
  EXPECT_EQ(outcome(turn).reply, "thank you");
}

TEST_F(AuthTest, WhatTheVaultHasIsNotReplacedUnseen) {
  parts_.vault.values["u1/github"] = "the-person's";
  const Accepted turn = asked();
  EXPECT_EQ(send(kValue, turn.thread_id).error().code, Code::kConflict);
  EXPECT_EQ(parts_.vault.values.at("u1/github"), "the-person's");
  EXPECT_TRUE(run(engine().history(kScope, turn.thread_id, 10, {}))->pending_auth);
  // As after a crash between the vault and the log.
  ASSERT_TRUE(send("the-person's", turn.thread_id));
  EXPECT_EQ(outcome(turn).reply, "thank you");
}

TEST_F(AuthTest, WhatWasApprovedToBeReplacedIs) {
  parts_.vault.values["u1/github"] = "old-value";
  const Accepted turn = asked(R"({"replace": true})");
  restart();
  ASSERT_TRUE(send(kValue, turn.thread_id));
  EXPECT_EQ(parts_.vault.values.at("u1/github"), kValue);
}

TEST_F(AuthTest, OverV1ItIsNotTaken) {
  const Accepted turn = asked();
  const auto given =
      run(engine().send({.scope = kScope, .channel = "v1", .thread_id = turn.thread_id, .content = kValue}));
  EXPECT_EQ(given.error().code, Code::kConflict);
  EXPECT_EQ(given.error().message.find("ghp_"), std::string::npos);
  EXPECT_TRUE(run(engine().history(kScope, turn.thread_id, 10, {}))->pending_auth);
  EXPECT_EQ(log_text(turn.thread_id).find("ghp_"), std::string::npos);
  EXPECT_TRUE(run(engine().cancel_credential(kScope, "github")));
  outcome(turn);
}

TEST_F(AuthTest, AnInterruptEndsIt) {
  const Accepted turn = asked();
  EXPECT_EQ(send("/stop", turn.thread_id)->reply, "Interrupted.");
  EXPECT_EQ(run(engine().give_credential(kScope, "github", "x")).error().code, Code::kNotFound);
  loop_.advance(std::chrono::minutes(11));
  provider_.say("unused");
}

TEST_F(AuthTest, ABadNameIsTheToolsError) {
  provider_.call({{"a", "needs", R"({"name": "../x y"})"}});
  provider_.say("sorry");
  EXPECT_EQ(outcome(*send("go")).reply, "sorry");
  EXPECT_NE(tool_result().find("Error"), std::string::npos);
}

TEST_F(AuthTest, TwoAreGivenOneAfterTheOther) {
  provider_.call({{"a", "needs", R"({"name": "one"})"}, {"b", "needs", R"({"name": "two"})"}});
  provider_.say("both");
  const auto accepted = send("go");
  EXPECT_EQ(outcome(*accepted).auth->name, "one");
  send("first-value", accepted->thread_id);
  EXPECT_EQ(run(engine().history(kScope, accepted->thread_id, 10, {}))->pending_auth->name, "two");
  send("second-value", accepted->thread_id);
  EXPECT_EQ(outcome(*accepted).reply, "both");
  EXPECT_EQ(parts_.vault.values.at("u1/one"), "first-value");
  EXPECT_EQ(parts_.vault.values.at("u1/two"), "second-value");
  expect_replays(accepted->thread_id);
}

}  // namespace
}  // namespace chela::agent
