#include "llm/provider.h"

#include <gtest/gtest.h>

namespace chela::llm {
namespace {

Message parsed(std::string_view text) {
  const Result<json::Value> value = json::parse(text);
  Result<Message> message = message_from_json(*value);
  EXPECT_TRUE(message) << message.error().text();
  return message.value_or(Message{});
}

Error refused(std::string_view text) {
  Result<Message> message = message_from_json(*json::parse(text));
  EXPECT_FALSE(message);
  return message ? Error{} : message.error();
}

TEST(Message, SurvivesJson) {
  const std::vector<Message> all{
      {.role = Role::kSystem, .content = "be short"},
      {.role = Role::kUser, .content = "h\u00e9"},
      {.role = Role::kAssistant, .content = "", .tool_calls = {{"a", "time", "{}"}, {"b", "x", "not json"}}},
      {.role = Role::kAssistant, .tool_calls = {{"a", "time", "{}"}}, .provider_data = R"({"anthropic":[]})"},
      {.role = Role::kTool, .content = "12:00", .tool_call_id = "a", .name = "time"},
  };
  for (const Message& message : all) EXPECT_EQ(parsed(json::write(to_json(message))), message);
}

TEST(Message, AcceptsWhatClientsSend) {
  EXPECT_EQ(parsed(R"({"role":"developer","content":"x"})").role, Role::kSystem);
  EXPECT_EQ(
      parsed(R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]})").content,
      "ab");
  EXPECT_EQ(parsed(R"({"role":"assistant","content":null})").content, "");
  const Message call =
      parsed(R"({"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a":1}}}]})");
  EXPECT_EQ(call.tool_calls, (std::vector<ToolCall>{{"1", "f", R"({"a":1})"}}));
}

TEST(Message, RefusesWhatItCannotKeep) {
  EXPECT_EQ(refused(R"([])").code, Code::kInvalidArgument);
  EXPECT_EQ(refused(R"({"role":"robot","content":"x"})").code, Code::kInvalidArgument);
  EXPECT_EQ(refused(R"({"role":"user","content":7})").code, Code::kInvalidArgument);
  EXPECT_EQ(refused(R"({"role":"user","content":[{"type":"image_url"}]})").code, Code::kUnsupported);
  EXPECT_EQ(refused(R"({"role":"assistant","tool_calls":{}})").code, Code::kInvalidArgument);
  EXPECT_EQ(refused(R"({"role":"assistant","tool_calls":[{}]})").code, Code::kInvalidArgument);
}

TEST(Request, JsonHoldsAllThatChangesTheAnswer) {
  Request request{.model = "m", .messages = {{.content = "hi"}}};
  EXPECT_EQ(json::write(to_json(request)), R"({"model":"m","messages":[{"role":"user","content":"hi"}]})");
  request.tool_choice = ToolChoice::kRequired;  // means nothing without tools
  EXPECT_EQ(to_json(request).find("tool_choice"), nullptr);
  request.tools = {{.name = "t", .description = "d", .parameters = json::Object()}};
  request.sampling.temperature = 0.5;
  request.sampling.top_p = 1.0;
  request.sampling.max_tokens = 9;
  request.sampling.seed = 7;
  request.sampling.stop = {"END"};
  request.sampling.response_format = json::Value::object({{"type", "json_object"}});
  request.extra.set("logit_bias", 1);
  request.extra.set("model", "another");  // ours wins
  EXPECT_EQ(
      json::write(to_json(request)),
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":)"
      R"({"name":"t","description":"d","parameters":{}}}],"tool_choice":"required","temperature":0.5,"top_p":1.0,)"
      R"("max_tokens":9,"seed":7,"stop":["END"],"response_format":{"type":"json_object"},"logit_bias":1})");
  request.tool_choice_name = "t";
  EXPECT_EQ(json::write(*to_json(request).find("tool_choice")),
            R"({"type":"function","function":{"name":"t"}})");
}

TEST(Names, GoThereAndBack) {
  for (const Role role : {Role::kSystem, Role::kUser, Role::kAssistant, Role::kTool}) {
    EXPECT_EQ(role_from_name(role_name(role)), role);
  }
  for (const FinishReason reason :
       {FinishReason::kStop, FinishReason::kLength, FinishReason::kToolCalls, FinishReason::kContentFilter}) {
    EXPECT_EQ(finish_reason_from_name(finish_reason_name(reason)), reason);
  }
  EXPECT_EQ(finish_reason_from_name("tired"), FinishReason::kUnknown);
}

}  // namespace
}  // namespace chela::llm
