#include "api/anthropic_answer.h"
#include "api/api_test_fixture.h"

namespace chela::api {
namespace {

using agent::TurnState;

class AnthropicMessages : public ApiTest {
 protected:
  // The events of a stream, each checked to be named as its type.
  std::vector<json::Value> events() const {
    std::vector<json::Value> out;
    for (const op::Event& each : sink_.events) {
      out.push_back(*json::parse(each.data));
      EXPECT_EQ(each.name, out.back().string_or("type"));
    }
    return out;
  }
};

TEST_F(AnthropicMessages, AnAgentAnswersInAnthropicsShape) {
  engine_.script.push_back(
      {.outcome = {.state = TurnState::kCompleted, .reply = "5", .visible = "5", .usage = {10, 2, 4}}});
  const auto answer = call("anthropic::messages", R"({"model": "chela", "max_tokens": 9, "system": "be brief",
    "messages": [{"role": "user", "content": "2+3?"}]})");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(engine_.sent.at(0).content, "2+3?");
  EXPECT_EQ(engine_.sent.at(0).client_system, "be brief");
  EXPECT_TRUE(answer->string_or("id").starts_with("msg_"));
  EXPECT_EQ(answer->string_or("type"), "message");
  EXPECT_EQ(answer->string_or("stop_reason"), "end_turn");
  EXPECT_EQ(answer->find("content")->as_array()->at(0), *json::parse(R"({"type":"text","text":"5"})"));
  EXPECT_EQ(answer->find("usage")->int_or("input_tokens", -1), 6);
  EXPECT_EQ(answer->find("usage")->int_or("cache_read_input_tokens", -1), 4);
  EXPECT_EQ(answer->find("usage")->int_or("output_tokens", -1), 2);
}

TEST_F(AnthropicMessages, ClientToolsGoOutAsBlocksAndComeBackAsResults) {
  engine_.script.push_back({.outcome = {.state = TurnState::kAwaitingClient,
                                        .visible = "",
                                        .client_calls = {{"c1", "mine", "{\"x\":1}"}}}});
  const auto asked =
      call("anthropic::messages",
           R"({"model": "chela", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}]})");
  ASSERT_TRUE(asked) << asked.error().text();
  EXPECT_EQ(asked->string_or("stop_reason"), "tool_use");
  EXPECT_EQ(*asked->find("content"),
            *json::parse(R"([{"type":"tool_use","id":"c1","name":"mine","input":{"x":1}}])"));
  engine_.client_call_ids = {"c1"};
  ASSERT_TRUE(call("anthropic::messages",
                   R"({"model": "chela", "max_tokens": 9, "messages": [{"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "mine", "input": {"x": 1}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "42"}]}]})"));
  EXPECT_EQ(engine_.results.at(0).at(0).content, "42");
}

TEST_F(AnthropicMessages, AStreamIsMadeOfBlocks) {
  const AnthropicFormat format;
  const auto writer = format.writer(sink_, {.id = "1", .model = "m"});
  writer->reasoning("hm");
  writer->text("a");
  writer->text("b");
  writer->tool_calls({{"c1", "f", R"({"x":1})"}, {"c2", "g", "broken"}});
  writer->finish({.reason = llm::FinishReason::kToolCalls, .usage = {.input_tokens = 3, .output_tokens = 2}});
  ASSERT_TRUE(writer->state());
  std::string order;
  for (const json::Value& event : events()) {
    order += event.string_or("type");
    if (event.find("index")) order += fmt::format("[{}]", event.int_or("index", -1));
    order += ' ';
  }
  EXPECT_EQ(
      order,
      "message_start content_block_start[0] content_block_delta[0] content_block_stop[0] "
      "content_block_start[1] content_block_delta[1] content_block_delta[1] content_block_stop[1] "
      "content_block_start[2] content_block_delta[2] content_block_stop[2] "
      "content_block_start[3] content_block_delta[3] content_block_stop[3] message_delta message_stop ");
  EXPECT_EQ(events().at(2).find("delta")->string_or("thinking"), "hm");
  EXPECT_EQ(events().at(8).find("content_block")->string_or("name"), "f");
  EXPECT_EQ(events().at(9).find("delta")->string_or("partial_json"), R"({"x":1})");
  EXPECT_EQ(events().at(12).find("delta")->string_or("partial_json"), R"({"arguments":"broken"})");
  EXPECT_EQ(events().at(14).find("delta")->string_or("stop_reason"), "tool_use");
}

TEST_F(AnthropicMessages, AnEmptyStreamIsAMessageWithoutContent) {
  const AnthropicFormat format;
  const auto writer = format.writer(sink_, {.id = "1", .model = "m"});
  writer->text("");
  writer->finish(
      {.reason = llm::FinishReason::kLength, .approval = json::Value::object({{"request_id", "r"}})});
  ASSERT_EQ(events().size(), 3u);
  EXPECT_EQ(events().at(1).find("delta")->string_or("stop_reason"), "max_tokens");
  EXPECT_EQ(events().at(1).find("approval")->string_or("request_id"), "r");
}

}  // namespace
}  // namespace chela::api
