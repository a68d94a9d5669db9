#include "api/responses_answer.h"

#include "api/api_test_fixture.h"

namespace chela::api {
namespace {

using agent::TurnState;

class Responses : public ApiTest {
 protected:
  std::vector<json::Value> events() const {
    std::vector<json::Value> out;
    for (const op::Event& each : sink_.events) {
      out.push_back(*json::parse(each.data));
      EXPECT_EQ(each.name, out.back().string_or("type"));
      EXPECT_EQ(out.back().int_or("sequence_number", -1), static_cast<std::int64_t>(out.size()) - 1);
    }
    return out;
  }
};

TEST_F(Responses, AnAgentAnswersWithItems) {
  engine_.script.push_back({.outcome = {.state = TurnState::kAwaitingClient,
                                        .visible = "I call",
                                        .client_calls = {{"c1", "mine", "{\"x\":1}"}},
                                        .usage = {10, 2, 4}}});
  const auto answer =
      call("openai::responses", R"({"model": "chela", "instructions": "be brief", "input": "go"})");
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(engine_.sent.at(0).content, "go");
  EXPECT_EQ(engine_.sent.at(0).client_system, "be brief");
  EXPECT_TRUE(answer->string_or("id").starts_with("resp_"));
  EXPECT_EQ(answer->string_or("status"), "completed");
  EXPECT_EQ(answer->string_or("instructions"), "be brief");
  const json::Array& output = *answer->find("output")->as_array();
  ASSERT_EQ(output.size(), 2u);
  EXPECT_EQ(output[0].find("content")->as_array()->at(0).string_or("text"), "I call");
  EXPECT_EQ(output[1].string_or("call_id"), "c1");
  EXPECT_EQ(output[1].string_or("arguments"), "{\"x\":1}");
  EXPECT_EQ(answer->find("usage")->int_or("total_tokens", 0), 12);
  EXPECT_EQ(answer->find("usage")->find("input_tokens_details")->int_or("cached_tokens", 0), 4);
}

TEST_F(Responses, AStreamBuildsTheSameItems) {
  const ResponsesFormat format(json::Value::object());
  const AnswerHead head{.id = "1", .model = "m"};
  const auto writer = format.writer(sink_, head);
  writer->reasoning("hm");
  writer->text("a");
  writer->text("b");
  writer->tool_calls({{"c1", "f", R"({"x":1})"}});
  const AnswerEnd end{.reason = llm::FinishReason::kToolCalls,
                      .usage = {.input_tokens = 3, .output_tokens = 2}};
  writer->finish(end);
  ASSERT_TRUE(writer->state());
  std::string order;
  for (const json::Value& event : events()) order += event.string_or("type").substr(9) + " ";
  EXPECT_EQ(order,
            "created in_progress output_item.added reasoning_summary_part.added reasoning_summary_text.delta "
            "reasoning_summary_text.done reasoning_summary_part.done output_item.done output_item.added "
            "content_part.added output_text.delta output_text.delta output_text.done content_part.done "
            "output_item.done output_item.added function_call_arguments.delta function_call_arguments.done "
            "output_item.done completed ");
  const json::Value whole =
      format.whole(head, {.text = "ab", .reasoning = "hm", .calls = {{"c1", "f", R"({"x":1})"}}, .end = end});
  EXPECT_EQ(*events().back().find("response"), whole);
}

TEST_F(Responses, AnAnswerThatWasCutIsIncomplete) {
  const ResponsesFormat format(json::Value::object());
  const auto writer = format.writer(sink_, {.id = "1", .model = "m"});
  writer->finish({.reason = llm::FinishReason::kLength});
  const json::Value last = events().back();
  EXPECT_EQ(last.string_or("type"), "response.incomplete");
  EXPECT_EQ(last.find("response")->find("incomplete_details")->string_or("reason"), "max_output_tokens");
  EXPECT_TRUE(last.find("response")->find("output")->as_array()->empty());
}

}  // namespace
}  // namespace chela::api
