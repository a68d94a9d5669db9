#include "config/live.h"

#include <gtest/gtest.h>

#include "config/file_template.h"
#include "config/json_value.h"

namespace chela::config {
namespace {

Config with(std::map<std::string, std::string> settings) {
  return *Config::load({.settings = std::move(settings)});
}

TEST(Live, KeysThatCountAtOnceCallTheirSubscribers) {
  Live live(with({}));
  std::vector<std::string> calls;
  live.subscribe({"agent.busy", "limits.message"}, [&](const Settings& now) {
    calls.push_back(fmt::format("{} {}", now.agent.busy == WhenBusy::kQueue, now.limits.message_bytes));
  });
  live.subscribe({"log.level"}, [&](const Settings&) { calls.emplace_back("log"); });
  live.replace(with({{"agent.busy", "queue"}, {"limits.message", "50"}}));
  EXPECT_EQ(calls, std::vector<std::string>{"true 50"});
  live.replace(with({{"agent.busy", "queue"}, {"limits.message", "50"}}));
  EXPECT_EQ(calls.size(), 1u);
  live.replace(with({{"log.level", "debug"}}));
  EXPECT_EQ(calls, (std::vector<std::string>{"true 50", "false 100000", "log"}));
}

TEST(Live, OthersWaitForARestart) {
  Live live(with({}));
  live.replace(with({{"gateway.port", "4000"}, {"limits.message", "50"}}));
  EXPECT_EQ(live.running().settings().gateway.port, 3000);
  EXPECT_EQ(live.running().settings().limits.message_bytes, 50u);
  EXPECT_EQ(live.wanted().settings().gateway.port, 4000);
  EXPECT_TRUE(live.waits_for_restart("gateway.port"));
  EXPECT_FALSE(live.waits_for_restart("limits.message"));
  live.replace(with({}));
  EXPECT_FALSE(live.waits_for_restart("gateway.port"));
}

// A new backend comes with the next start; its model must not reach the old one's provider under another name.
TEST(Live, WhatBelongsTogetherIsBuiltFromWhatRuns) {
  Live live(with({{"llm.backend", "ollama"}, {"ollama.model", "a"}}));
  live.replace(with({{"llm.backend", "openai"}, {"openai.model", "b"}, {"ollama.model", "c"}}));
  EXPECT_EQ(live.running().settings().llm.backend, LlmBackend::kOllama);
  EXPECT_EQ(live.running().settings().llm.model, "c");
  EXPECT_EQ(live.wanted().settings().llm.model, "b");
}

TEST(Live, KeysNobodyFollowsAreNamed) {
  Live live(with({}));
  std::vector<std::string_view> unheard = live.unheard();
  EXPECT_FALSE(unheard.empty());
  live.subscribe(unheard, [](const Settings&) {});
  EXPECT_TRUE(live.unheard().empty());
}

TEST(JsonValue, TextAndJsonAgree) {
  const std::vector<std::tuple<std::string_view, std::string_view, std::string_view>> cases{
      {"gateway.port", "8080", "8080"},    {"agent.auto_approve_tools", "true", "true"},
      {"llm.temperature", "0.5", "0.5"},   {"tools.timeout", "30s", "\"30s\""},
      {"limits.body", "2MiB", "\"2MiB\""}, {"llm.model", "m", "\"m\""},
      {"llm.model", "", "\"\""},           {"llm.max_tokens", "", "null"}};
  for (const auto& [name, text, json] : cases) {
    const Key& key = *find_key(name);
    EXPECT_EQ(json::write(json_of(key, text)), json) << name;
    if (json != "null") {
      EXPECT_EQ(*text_of(key, *json::parse(json)), text) << name;
    }
  }
  EXPECT_EQ(*text_of(*find_key("gateway.port"), json::Value("8080")), "8080");
  EXPECT_EQ(*text_of(*find_key("llm.extra_headers"), *json::parse(R"(["a:1", "b:2"])")), "a:1,b:2");
  EXPECT_EQ(json_of(*find_key("llm.extra_headers"), "a:1, b:2"), *json::parse(R"(["a:1", "b:2"])"));
}

TEST(JsonValue, WhatFitsNoKeyIsRefused) {
  for (const char* wrong : {"null", "{}", "[1]", "true", "1.5", "70000", "\"x\""}) {
    const auto text = text_of(*find_key("gateway.port"), *json::parse(wrong));
    ASSERT_FALSE(text) << wrong;
    EXPECT_EQ(text.error().code, Code::kUnprocessable);
  }
  EXPECT_FALSE(text_of(*find_key("llm.extra_headers"), *json::parse(R"(["a,b"])")));
}

TEST(FileTemplate, IsAValidFileWithOrWithoutItsValues) {
  const std::string text = file_template();
  EXPECT_TRUE(Config::load({.file_path = "config.toml", .file_text = text}));
  std::string filled;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    // Lines of values, and not those that say that there is none.
    const bool value = line.starts_with("# ") && line.find(" = ") != std::string::npos &&
                       line.find(' ', 2) == line.find(" = ") && !line.ends_with("\"\"");
    filled += (value ? line.substr(2) : line) + "\n";
    begin = end + 1;
  }
  const Result<Config> config = Config::load({.file_path = "config.toml", .file_text = filled});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->settings().gateway.port, 3000);
}

}  // namespace
}  // namespace chela::config
