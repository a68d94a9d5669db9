#include "tools/builtin/core_tools.h"

#include "tools/builtin/json_query.h"
#include "tools/builtin/tool_fixture.h"

namespace chela::tools {
namespace {

using CoreTools = BuiltinTest;

TEST_F(CoreTools, EveryBuiltinIsThereAndDeclaresAllItsParameters) {
  EXPECT_EQ(registry.names(scope, {"*"}),
            (std::vector<std::string>{"calculator", "echo", "json", "list_dir", "read_file", "request_secret",
                                      "time", "write_file"}));
  for (const llm::ToolSpec& spec : registry.specs(scope, {"*"})) {
    EXPECT_FALSE(spec.description.empty()) << spec.name;
    EXPECT_FALSE(spec.parameters->bool_or("additionalProperties", true)) << spec.name;
  }
}

TEST_F(CoreTools, Echo) {
  EXPECT_EQ(text("echo", R"({"message": "grüße <b>"})"), "grüße <b>");
  EXPECT_TRUE(call("echo", "{}").is_error);
}

TEST_F(CoreTools, RequestSecretHasThePersonAsked) {
  const FinishedCall asked =
      call("request_secret", R"({"name": "github_token", "reason": "to read issues"})");
  ASSERT_TRUE(asked.credential);
  EXPECT_EQ(asked.credential->name, "github_token");
  EXPECT_EQ(asked.credential->instructions, "to read issues");
  EXPECT_NE(call("request_secret", R"({"name": "k"})").credential->instructions.find("k"), std::string::npos);
  for (const char* name : {"", "../x", "a b", "-a"})
    EXPECT_TRUE(call("request_secret", fmt::format(R"({{"name": "{}"}})", name)).is_error) << name;
}

TEST_F(CoreTools, RequestSecretReplacesOnlyWhatThePersonAgreedTo) {
  const auto prepare = [this](std::string name) {
    return runtime::block_on(loop, runner.prepare({.scope = scope, .permissions = {{"*"}}},
                                                  {.id = "1",
                                                   .name = "request_secret",
                                                   .arguments = fmt::format(R"({{"name": "{}"}})", name)},
                                                  [](std::string_view) { return true; }, {}));
  };
  const PreparedCall before = prepare("openai_api_key");
  EXPECT_EQ(before.decision, PreparedCall::Decision::kRun);
  ASSERT_TRUE(
      runtime::block_on(loop, vault.set(scope, "openai_api_key", crypto::Secret("sk-of-the-person"))));

  // "Always" does not answer it.
  PreparedCall asked = prepare("openai_api_key");
  EXPECT_EQ(asked.decision, PreparedCall::Decision::kAsk);
  EXPECT_NE(asked.description.find("REPLACED"), std::string::npos);
  EXPECT_EQ(prepare("another").decision, PreparedCall::Decision::kRun);
  asked.decision = PreparedCall::Decision::kRun;  // the person said yes
  const auto run = [this](PreparedCall call) {
    return *runtime::block_on(loop, runner.execute({.scope = scope}, std::move(call), {}));
  };
  const FinishedCall agreed = run(asked);
  ASSERT_TRUE(agreed.credential);
  EXPECT_EQ(agreed.credential->replacing, Replacing::kExisting);
  // Decided when there was none.
  const FinishedCall late = run(before);
  EXPECT_TRUE(late.is_error);
  EXPECT_FALSE(late.credential);
}

TEST_F(CoreTools, Calculator) {
  EXPECT_EQ(call("calculator", R"({"expression": "17*23"})").text, "391");
  const FinishedCall wrong = call("calculator", R"({"expression": "1/0"})");
  EXPECT_TRUE(wrong.is_error);
  EXPECT_EQ(wrong.text, "Error: division by zero");
}

TEST_F(CoreTools, Json) {
  EXPECT_EQ(text("json", R"({"operation": "parse", "data": "{\"b\":1,\"a\":[true]}"})"),
            "{\n  \"b\": 1,\n  \"a\": [\n    true\n  ]\n}");
  EXPECT_EQ(text("json", R"({"operation": "query", "data": "{\"a\":{\"b\":[10,20]}}", "path": "a.b[1]"})"),
            "20");
  EXPECT_EQ(text("json", R"({"operation": "query", "data": {"a": "x"}, "path": "$.a"})"), "\"x\"");
  EXPECT_EQ(text("json", R"({"operation": "stringify", "data": "{ \"a\" : 1.50 }"})"), R"({"a":1.5})");
  EXPECT_EQ(text("json", R"({"operation": "stringify", "data": [1, null]})"), "[1,null]");
  EXPECT_EQ(text("json", R"({"operation": "validate", "data": "[1, 2]"})"), "{\n  \"valid\": true\n}");
  EXPECT_TRUE(text("json", R"({"operation": "validate", "data": "[1, 2"})").contains("at byte"));
  EXPECT_TRUE(call("json", R"({"operation": "parse", "data": "{"})").is_error);
  EXPECT_TRUE(call("json", R"({"operation": "query", "data": "{}"})").is_error);
  EXPECT_TRUE(call("json", R"({"operation": "explode", "data": 1})").is_error);
}

TEST(JsonQuery, FollowsPathsAndSaysHowFarTheyLed) {
  const json::Value value = *json::parse(R"({"a": [{"b.c": 1, "d": null}, "x"], "e": {"f": [[7]]}})");
  const auto at = [&](std::string_view path) {
    const Result<json::Value> found = query(value, path);
    return found ? json::write(*found) : "error: " + found.error().message;
  };
  EXPECT_EQ(at("a[0].d"), "null");
  EXPECT_EQ(at(".a[1]"), R"("x")");
  EXPECT_EQ(at(R"($["a"][0]["b.c"])"), "1");
  EXPECT_EQ(at("$['e'].f[0][0]"), "7");
  EXPECT_EQ(at("e.f"), "[[7]]");
  EXPECT_EQ(at(""), json::write(value));
  EXPECT_EQ(at("$"), json::write(value));
  EXPECT_EQ(at("a[2]"), "error: 'a' has 2 elements, counted from 0: there is no [2]");
  EXPECT_EQ(at("e.g"), "error: 'e.' has no key 'g'; its keys: f");
  EXPECT_EQ(at("a.b"), "error: 'a.' is an array, it has no key 'b'");
  for (const char* wrong : {"a[", "a[x]", "a[-1]", "a..b", "a.", "a[0]x", "[\"a"})
    EXPECT_TRUE(at(wrong).starts_with("error: ")) << wrong;
}

}  // namespace
}  // namespace chela::tools
