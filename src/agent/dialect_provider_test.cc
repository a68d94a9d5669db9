#include "agent/dialect_provider.h"

#include <gtest/gtest.h>

#include "agent/dialects/test_formats.h"
#include "agent/dialects/test_tools.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::agent {
namespace {

// Streams what a test says in pieces of four bytes.
class Writer final : public llm::Provider {
 public:
  Result<llm::Answer> answer = llm::Answer{};
  llm::Request asked;

  Task<Result<llm::Answer>> complete(llm::Request request, llm::DeltaSink sink, std::optional<SteadyTime>,
                                     std::stop_token) override {
    asked = std::move(request);
    const std::string text = answer ? answer->text : "";
    for (size_t at = 0; at < text.size(); at += 4) sink({.text = text.substr(at, 4)});
    co_return answer;
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"one"};
  }
};

class DialectProviderTest : public ::testing::Test {
 protected:
  struct Asked {
    Result<llm::Answer> answer;
    std::string text;  // as it came
    std::string reasoning;
  };

  Asked ask(llm::ToolCalling calling, std::string written, llm::Request request) {
    if (inner_.answer) inner_.answer->text = std::move(written);
    DialectProvider provider(inner_, calling);
    Asked out{.answer = llm::Answer{}};
    out.answer = runtime::block_on(loop_, provider.complete(std::move(request),
                                                            [&out](const llm::Delta& delta) {
                                                              out.text += delta.text;
                                                              out.reasoning += delta.reasoning;
                                                            },
                                                            std::nullopt, {}));
    return out;
  }

  static llm::Request with_tools() {
    llm::Request request{.messages = {{.role = llm::Role::kUser, .content = "go"}}};
    for (const dialects::Tool& each : dialects::test_tools())
      request.tools.push_back({each.name, "A tool.", each.parameters});
    return request;
  }

  testing::ManualLoop loop_;
  Writer inner_;
};

constexpr std::string_view kCall =
    "<tool_call>{\"name\":\"shell\",\"arguments\":{\"command\":\"ls\"}}</tool_call>";

TEST_F(DialectProviderTest, ToolsAreToldInThePromptAndCalledInText) {
  const std::string text = "<think>hm</think>I look.\n" + std::string(kCall);
  const Asked asked = ask(llm::ToolCalling::kPrompted, text, with_tools());
  EXPECT_TRUE(inner_.asked.tools.empty());
  EXPECT_TRUE(inner_.asked.messages.at(0).content.contains("**shell**"));
  ASSERT_TRUE(asked.answer);
  EXPECT_EQ(asked.answer->text, "I look.");
  EXPECT_EQ(asked.text, "I look.");
  EXPECT_EQ(asked.reasoning, "hm");
  EXPECT_EQ(asked.answer->tool_calls, (std::vector<llm::ToolCall>{{"", "shell", R"({"command":"ls"})"}}));
  EXPECT_EQ(asked.answer->finish_reason, llm::FinishReason::kToolCalls);
}

TEST_F(DialectProviderTest, AModelWithToolsIsAskedAsItIs) {
  const llm::Request request = with_tools();
  const Asked asked = ask(llm::ToolCalling::kNative, std::string(kCall), request);
  EXPECT_EQ(inner_.asked.tools, request.tools);
  EXPECT_EQ(inner_.asked.messages, request.messages);
  EXPECT_EQ(asked.answer->tool_calls.size(), 1u);
}

TEST_F(DialectProviderTest, WhatCannotBeReadStaysText) {
  const std::string text = R"(So: <tool_call>{"name": "nobody", "arguments": {}}</tool_call>)";
  for (const llm::ToolCalling calling : {llm::ToolCalling::kNative, llm::ToolCalling::kPrompted}) {
    const Asked asked = ask(calling, text, with_tools());
    EXPECT_EQ(asked.text, text);
    EXPECT_EQ(asked.answer->text, text);
    EXPECT_TRUE(asked.answer->tool_calls.empty());
  }
}

TEST_F(DialectProviderTest, NothingIsCalledWhereNothingMay) {
  llm::Request request = with_tools();
  request.tool_choice = llm::ToolChoice::kNone;
  EXPECT_EQ(ask(llm::ToolCalling::kNative, std::string(kCall), request).answer->text, kCall);
  EXPECT_EQ(ask(llm::ToolCalling::kNative, std::string(kCall), {}).text, kCall);
}

TEST_F(DialectProviderTest, FailuresAndModelsAreThoseOfTheProvider) {
  inner_.answer = fail(Code::kRateLimited, "slow down");
  EXPECT_EQ(ask(llm::ToolCalling::kNative, "", {}).answer.error().code, Code::kRateLimited);
  DialectProvider provider(inner_, llm::ToolCalling::kNative);
  EXPECT_EQ(*runtime::block_on(loop_, provider.models({})), std::vector<std::string>{"one"});
}

}  // namespace
}  // namespace chela::agent
