#include "agent/commands/table.h"
#include "api/api_test_fixture.h"

namespace chela::api {
namespace {

class Operations : public ApiTest {};

TEST_F(Operations, EachHasHelpAndARouteThatTheRegistryFinds) {
  for (const auto& each : registry_.list()) {
    EXPECT_FALSE(each->help.empty()) << each->id;
    ASSERT_FALSE(each->routes.empty()) << each->id;
    for (const op::Route& route : each->routes) {
      const op::Match match = registry_.match(op::Surface::kGateway, route.method, route.path);
      EXPECT_EQ(match.operation, each) << route.path;
    }
  }
}

TEST_F(Operations, SendAnswersWithTheTurn) {
  const auto answer = call("chat::send", R"({"content": "hi", "idempotency_key": "k"})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->string_or("status"), "accepted");
  EXPECT_EQ(answer->string_or("turn_id"), "turn-1");
  EXPECT_EQ(engine_.sent.at(0).channel, "gateway");
  EXPECT_EQ(engine_.sent.at(0).idempotency_key, "k");
  EXPECT_EQ(engine_.sent.at(0).scope.user, "u");
  EXPECT_EQ(call("chat::send", R"({"content": "hi", "thread_id": "none"})").error().code, Code::kNotFound);
  EXPECT_EQ(call("chat::send", R"({})").error().code, Code::kUnprocessable);
  EXPECT_EQ(call("chat::send", R"({"content": 5})").error().code, Code::kUnprocessable);
}

TEST_F(Operations, ACommandsAnswerComesWithTheMessageAndNoTurn) {
  engine_.command_reply = "pong!";
  const auto answer = call("chat::send", R"({"content": "/ping"})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->string_or("reply"), "pong!");
  EXPECT_EQ(answer->find("turn_id"), nullptr);
}

TEST_F(Operations, RetryAndEditBeginATurn) {
  engine_.known_threads.insert("t");
  ASSERT_TRUE(call("chat::retry", R"({"thread_id": "t"})"));
  EXPECT_EQ(engine_.retried, std::vector<std::string>{"t"});
  const auto edited = call("chat::edit", R"({"thread_id": "t", "turn_number": 3, "content": "other"})");
  ASSERT_TRUE(edited);
  EXPECT_EQ(edited->string_or("thread_id"), "edited-3");
  EXPECT_EQ(engine_.edited.at(0).second.content, "other");
  EXPECT_EQ(call("chat::edit", R"({"thread_id": "t", "content": "x"})").error().code, Code::kUnprocessable);
}

TEST_F(Operations, TheCommandsAreThoseOfTheTable) {
  const auto answer = call("chat::commands", "{}");
  ASSERT_TRUE(answer);
  const json::Array& listed = *answer->find("commands")->as_array();
  ASSERT_EQ(listed.size(), agent::commands::table().size());
  EXPECT_EQ(listed[0].string_or("name"), "/help");
  EXPECT_EQ(json::write(*listed[0].find("synonyms")), R"(["/?"])");
}

TEST_F(Operations, ApprovalsCarryTheDecision) {
  engine_.pending = agent::PendingApproval{.request_id = "r", .thread_id = "t", .turn_id = "turn-9"};
  ASSERT_TRUE(call("chat::approval", R"({"request_id": "r", "action": "always"})"));
  EXPECT_EQ(engine_.decisions.at(0).second, agent::Decision::kAlways);
  EXPECT_EQ(call("chat::approval", R"({"request_id": "r", "action": "perhaps"})").error().code,
            Code::kUnprocessable);
  EXPECT_EQ(call("chat::approval", R"({"request_id": "x", "action": "deny"})").error().code, Code::kNotFound);
}

TEST_F(Operations, HistoryShowsTurnsAndThePendingQuestion) {
  engine_.turns = {{.number = 0,
                    .id = "turn-1",
                    .user_input = "hi",
                    .steered = {"and?"},
                    .response = "hello",
                    .state = agent::TurnState::kCompleted,
                    .started_at = 1'767'225'600'000,
                    .completed_at = 1'767'225'601'000,
                    .tool_calls = {{.id = "c",
                                    .name = "time",
                                    .arguments = json::Value::object(),
                                    .has_result = true,
                                    .result_preview = "ten"}}}};
  engine_.pending = agent::PendingApproval{
      .request_id = "r", .tool_name = "write_file", .parameters = parsed(R"({"path": "a"})")};
  const auto answer = call("chat::history", "{}");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->string_or("thread_id"), "active-gateway");
  EXPECT_EQ(answer->string_or("oldest_timestamp"), "2026-01-01T00:00:00.000Z");
  const json::Value& turn = answer->find("turns")->as_array()->at(0);
  EXPECT_EQ(turn.string_or("response"), "hello");
  EXPECT_EQ(turn.find("steered")->as_array()->size(), 1u);
  EXPECT_EQ(turn.find("tool_calls")->as_array()->at(0).string_or("result_preview"), "ten");
  EXPECT_EQ(answer->find("pending_approval")->string_or("parameters"), "{\n  \"path\": \"a\"\n}");
  EXPECT_EQ(call("chat::history", R"({"before": "yesterday"})").error().code, Code::kInvalidArgument);
}

TEST_F(Operations, EventsAreForwardedUntilTheEngineCutsThemOff) {
  loop_.call_at(loop_.clock().steady() + 1s, [this] {
    engine_.publish(
        {.id = "4.0", .type = "status", .data = parsed(R"({"type": "status", "thread_id": "t"})")});
    engine_.publish(
        {.id = "5.0", .type = "status", .data = parsed(R"({"type": "status", "thread_id": "other"})")});
    engine_.cut_off();
  });
  ASSERT_TRUE(
      call("chat::events", R"({"thread_id": "t", "last_event_id": "1.0"})", {{"last-event-id", "3.2"}}));
  EXPECT_EQ(engine_.subscribed.at(0), (std::pair<std::string, std::string>("t", "3.2")));
  ASSERT_EQ(sink_.events.size(), 1u);
  EXPECT_EQ(sink_.events[0].name, "status");
  EXPECT_EQ(sink_.events[0].id, "4.0");
  EXPECT_EQ(engine_.subscribers(), 0u);
}

TEST_F(Operations, AStreamIsOpenBeforeItsFirstEvent) {
  loop_.call_at(loop_.clock().steady() + 1s, [this] {
    EXPECT_TRUE(sink_.opened);
    stop_.request_stop();
  });
  ASSERT_TRUE(call("chat::events", "{}"));
  engine_.max_subscribers = 0;
  EXPECT_EQ(call("chat::events", "{}").error().code, Code::kRateLimited);
}

TEST_F(Operations, ThreadsAreListedMadeLoggedReplayedAndForked) {
  const auto made = call("thread::create", R"({"channel": "cli"})");
  ASSERT_TRUE(made);
  const std::string id = made->string_or("id");
  EXPECT_EQ(call("thread::list", "{}")->find("threads")->as_array()->at(0).string_or("id"), id);
  EXPECT_EQ(call("thread::log", fmt::format(R"({{"id": "{}", "after": 4}})", id))
                ->find("records")
                ->as_array()
                ->size(),
            1u);
  EXPECT_EQ(call("thread::replay", fmt::format(R"({{"id": "{}", "until": 3}})", id))->int_or("records", 0),
            3);
  EXPECT_TRUE(call("thread::fork", fmt::format(R"({{"id": "{}", "at": 2}})", id)));
  EXPECT_EQ(call("thread::log", R"({"id": "none"})").error().code, Code::kNotFound);
}

TEST_F(Operations, UseHasACostWhereThePriceIsKnown) {
  const llm::Usage tokens{.input_tokens = 1000, .output_tokens = 10, .cached_tokens = 500};
  engine_.used = {{.model = "m-1", .turns = 1, .tokens = tokens},
                  {.model = "other", .turns = 1, .tokens = tokens}};
  const json::Value days = *call("usage::days", "{}")->find("days");
  EXPECT_DOUBLE_EQ(days.as_array()->at(0).find("cost")->as_double().value(), 0.0065);
  EXPECT_EQ(days.as_array()->at(1).find("cost"), nullptr);
  const json::Value models = *call("system::status", "{}")->find("model_usage");
  EXPECT_EQ(models.as_array()->at(0).string_or("cost"), "0.006500");
  EXPECT_EQ(models.as_array()->at(1).find("cost"), nullptr);
}

TEST_F(Operations, TheSystemSaysHowItIs) {
  EXPECT_EQ(call("system::health", "{}")->string_or("status"), "healthy");
  EXPECT_TRUE(call("system::ready", "{}"));
  ready_ = false;
  EXPECT_EQ(call("system::ready", "{}").error().code, Code::kUnavailable);
  EXPECT_EQ(call("system::status", "{}")->int_or("pid", 0), 7);
  EXPECT_NE(call("system::openapi", "{}")->find("paths")->find("/api/chat/send"), nullptr);
}

}  // namespace
}  // namespace chela::api
