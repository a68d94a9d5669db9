#include "infer/chat_request.h"

#include <gtest/gtest.h>

#include "infer/limits.h"

namespace chela::infer {
namespace {

Result<ChatRequest> parse(std::string_view body) { return parse_chat_request(*json::parse(body)); }

std::string wrong_param(std::string_view body) {
  const auto request = parse(body);
  return request ? "" : std::string(request.error().detail("param"));
}

TEST(ChatRequests, AreReadWhole) {
  const auto request = parse(
      R"({"model":"local/small","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"temperature":0,"seed":7,"stop":["a","b"],"unknown":1,
    "messages":[{"role":"developer","content":"d"},{"role":"user","content":[{"type":"text","text":"he"},{"type":"text","text":"llo"}]},
      {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}],
    "tools":[{"type":"function","function":{"name":"t","description":"does","parameters":{"type":"object"}}}],"tool_choice":{"type":"function","function":{"name":"t"}}})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->messages[0].role, Role::kSystem);
  EXPECT_EQ(request->messages[1].content, "hello");
  EXPECT_EQ(request->messages[2].tool_calls[0].name, "t");
  EXPECT_EQ(request->messages[3].tool_call_id, "c");
  EXPECT_EQ(request->tools[0].description, "does");
  EXPECT_EQ(request->tool_choice_name, "t");
  EXPECT_EQ(request->delivery, Delivery::kStream);
  EXPECT_EQ(request->usage_chunk, UsageChunk::kYes);
  EXPECT_EQ(request->sampling.max_tokens, 5U);
  EXPECT_EQ(request->sampling.stop.size(), 2U);
}

TEST(ChatRequests, MistakesNameTheField) {
  EXPECT_EQ(wrong_param(R"({"messages":[{"role":"user","content":"x"}]})"), "model");
  EXPECT_EQ(wrong_param(R"({"model":"m"})"), "messages");
  EXPECT_EQ(wrong_param(R"({"model":"m","messages":[]})"), "messages");
  EXPECT_EQ(wrong_param(R"({"model":"m","messages":[{"role":"boss","content":"x"}]})"), "messages[0].role");
  EXPECT_EQ(wrong_param(R"({"model":"m","messages":[{"role":"user","content":7}]})"), "messages[0].content");
  EXPECT_EQ(wrong_param(R"({"model":"m","messages":[{"role":"tool","content":"x"}]})"),
            "messages[0].tool_call_id");
  const auto with = [](std::string_view field) {
    return std::string(R"({"model":"m","messages":[{"role":"user","content":"x"}],)") + std::string(field) +
           "}";
  };
  EXPECT_EQ(wrong_param(with(R"("temperature":3)")), "temperature");
  EXPECT_EQ(wrong_param(with(R"("top_p":"x")")), "top_p");
  EXPECT_EQ(wrong_param(with(R"("max_tokens":0)")), "max_tokens");
  EXPECT_EQ(wrong_param(with(R"("stop":[""])")), "stop");
  EXPECT_EQ(wrong_param(with(R"("tools":[{"type":"x"}])")), "tools[0]");
  EXPECT_EQ(wrong_param(with(R"("tool_choice":"required")")), "tool_choice");
  EXPECT_EQ(wrong_param(with(R"("n":2)")), "n");
  EXPECT_EQ(wrong_param(with(R"("response_format":{"type":"json_object"})")), "response_format");
  EXPECT_EQ(parse(with(R"("n":2)")).error().code, Code::kUnsupported);
}

TEST(ChatRequests, ImagesAreRefused) {
  const auto request = parse(
      R"({"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]})");
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, Code::kUnsupported);
}

TEST(ChatRequests, LimitsAreReached) {
  const auto many = [](std::string_view entry, std::size_t count) {
    std::string out = "[";
    for (std::size_t i = 0; i < count; ++i) out += (i > 0 ? "," : "") + std::string(entry);
    return out + "]";
  };
  const std::string_view message = R"({"role":"user","content":"x"})";
  EXPECT_EQ(wrong_param(R"({"model":"m","messages":)" + many(message, kMaxMessages + 1) + "}"), "messages");
  EXPECT_TRUE(parse(R"({"model":"m","messages":)" + many(message, kMaxMessages) + "}"));
  const auto tools = many(R"({"type":"function","function":{"name":"t"}})", kMaxTools + 1);
  EXPECT_EQ(
      wrong_param(R"({"model":"m","messages":[)" + std::string(message) + R"(],"tools":)" + tools + "}"),
      "tools");
  const auto stops = many("\"x\"", kMaxStopStrings + 1);
  EXPECT_EQ(wrong_param(R"({"model":"m","messages":[)" + std::string(message) + R"(],"stop":)" + stops + "}"),
            "stop");
  EXPECT_EQ(wrong_param(R"({"model":"m","messages":[)" + std::string(message) + R"(],"stop":")" +
                        std::string(kMaxStopBytes + 1, 'x') + "\"}"),
            "stop");
}

}  // namespace
}  // namespace chela::infer
