#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "config/config.h"

namespace chela::config {
namespace {

// A port for each layer that has one; whatever the mix, the highest decides and explain() names it.
TEST(Layers, TheHighestThatHasAValueWins) {
  rc::check("any mix of layers", [] {
    Sources sources{.file_path = "config.toml"};
    std::optional<int> expected;
    Layer layer = Layer::kDefault;
    const auto maybe = [&](Layer here) -> std::optional<std::string> {
      if (!*rc::gen::arbitrary<bool>()) return std::nullopt;
      const int port = *rc::gen::inRange(0, 65536);
      expected = port;
      layer = here;
      return std::to_string(port);
    };
    // Lowest first: each given one overrides those before.
    if (const auto port = maybe(Layer::kSettings)) sources.settings["gateway.port"] = *port;
    if (const auto port = maybe(Layer::kFile)) sources.file_text = "[gateway]\nport = " + *port + "\n";
    if (const auto port = maybe(Layer::kForeign)) sources.environment["GATEWAY_PORT"] = *port;
    if (const auto port = maybe(Layer::kEnvironment)) sources.environment["CHELA_GATEWAY_PORT"] = *port;
    if (const auto port = maybe(Layer::kFlag)) sources.flags.emplace_back("gateway.port", *port);
    const Result<Config> config = Config::load(sources);
    RC_ASSERT(config.has_value());
    RC_ASSERT(config->settings().gateway.port == expected.value_or(3000));
    RC_ASSERT(config->explain("gateway.port")->layer == layer);
    RC_ASSERT(config->explain("gateway.port")->value == std::to_string(expected.value_or(3000)));
  });
}

TEST(Layers, AWrongValueIsNamedByTheLayerItCameFrom) {
  const std::vector<std::pair<std::string, Sources>> cases{
      {"--gateway.port: ", {.flags = {{"gateway.port", "x"}}}},
      {"CHELA_GATEWAY_PORT: ", {.environment = {{"CHELA_GATEWAY_PORT", "x"}}}},
      {"GATEWAY_PORT: ", {.environment = {{"GATEWAY_PORT", "x"}}}},
      {"c.toml:2: ", {.file_path = "c.toml", .file_text = "[gateway]\nport = 'x'"}},
      {"settings: ", {.settings = {{"gateway.port", "x"}}}},
  };
  for (const auto& [origin, sources] : cases) {
    const Result<Config> config = Config::load(sources);
    ASSERT_FALSE(config) << origin;
    EXPECT_TRUE(config.error().message.starts_with(origin)) << config.error().message;
  }
}

TEST(Layers, ATextThatUpsetsTheTomlLibraryIsOnlyWrong) {
  const Result<Config> config = Config::load({.file_path = "c.toml", .file_text = "[[#"});
  ASSERT_FALSE(config);
  EXPECT_TRUE(config.error().message.starts_with("c.toml:")) << config.error().message;
}

TEST(Layers, ASettingThatNobodyKnowsAnymoreIsPassedOver) {
  EXPECT_TRUE(Config::load({.settings = {{"gone.key", "x"}}}));
}

TEST(Layers, SecretsComeFromTheEnvironmentOnly) {
  const std::vector<Sources> cases{{.flags = {{"llm.api_key", "plain-secret"}}},
                                   {.file_path = "c.toml", .file_text = "[llm]\napi_key = 'plain-secret'"},
                                   {.settings = {{"llm.api_key", "plain-secret"}}}};
  for (const Sources& sources : cases) {
    const Result<Config> config = Config::load(sources);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().message.find("plain-secret"), std::string::npos);
    EXPECT_NE(config.error().message.find("CHELA_LLM_API_KEY"), std::string::npos) << config.error().message;
  }
}

TEST(Layers, EverySecretIsKnownToTheLogAlsoAnUnusedOne) {
  const Result<Config> config = Config::load({.environment = {{"OPENAI_API_KEY", "openai-secret"},
                                                              {"LLM_BASE_URL", "http://h"},
                                                              {"LLM_API_KEY", "llm-secret"},
                                                              {"GATEWAY_AUTH_TOKEN", "gateway-secret"}}});
  ASSERT_TRUE(config);
  const std::vector<std::string> secrets = config->secret_values();
  for (const std::string& each : {"openai-secret", "llm-secret", "gateway-secret"}) {
    EXPECT_NE(std::find(secrets.begin(), secrets.end(), each), secrets.end()) << each;
  }
}

TEST(Layers, HeadersAreNotShown) {
  const Result<Config> config = Config::load(
      {.environment = {{"LLM_EXTRA_HEADERS", "X-Key:abcdefgh"}, {"CHELA_LLM_UNIX_SOCKET", "/run/llm.sock"}}});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->explain("llm.extra_headers")->value, "[hidden]");
  EXPECT_EQ(config->secret_values(), std::vector<std::string>{"abcdefgh"});
  EXPECT_EQ(config->settings().llm.backend, LlmBackend::kOpenAiCompatible);
  EXPECT_EQ(config->settings().llm.base_url, "http://localhost");
}

// What the wizard writes for the local model and for another provider.
TEST(Layers, ABackendOfTheEnvironmentWinsOverWhatTheFileSaysOfAnother) {
  for (const std::string_view file :
       {"[llm]\nmodel = 'local/small'\n", "[llm]\nbackend = 'local'\nmodel = 'local/small'\n",
        "[llm]\nbackend = 'compatible'\nbase_url = 'http://h/v1'\nmodel = 'm'\nextra_headers = ['X: y']\n"
        "api_key = 'secret:K'\n"}) {
    const Result<Config> config = Config::load(
        {.environment = {{"LLM_BACKEND", "ollama"}}, .file_path = "c.toml", .file_text = std::string(file)});
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->settings().llm.backend, LlmBackend::kOllama);
    EXPECT_EQ(config->settings().llm.model, "llama3");
    EXPECT_EQ(config->settings().llm.base_url, "http://localhost:11434");
    EXPECT_TRUE(config->settings().llm.extra_headers.empty());
    EXPECT_EQ(config->explain("llm.model")->layer, Layer::kDefault);
  }
}

TEST(Layers, WhatALowerLayerSaysOfTheSameBackendCounts) {
  const std::string file = "[llm]\nbackend = 'openai-compatible'\nbase_url = 'http://h/v1'\nmodel = 'm'\n";
  const Result<Config> same = Config::load(
      {.environment = {{"LLM_BACKEND", "openai_compatible"}}, .file_path = "c.toml", .file_text = file});
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_EQ(same->settings().llm.base_url, "http://h/v1");
  EXPECT_EQ(same->settings().llm.model, "m");
  // Without a backend of its own, a layer speaks of whichever is chosen; a local model may stand beside a remote backend of its layer.
  const std::string mine = "[llm]\nmodel = 'qwen3'\n";
  EXPECT_EQ(
      Config::load({.environment = {{"LLM_BACKEND", "ollama"}}, .file_text = mine})->settings().llm.model,
      "qwen3");
  EXPECT_EQ(Config::load({.environment = {{"LLM_BACKEND", "ollama"}, {"LLM_MODEL", "local/small"}}})
                ->settings()
                .llm.model,
            "local/small");
  EXPECT_EQ(Config::load({.file_text = "llm.backend = 'ollama'", .settings = {{"llm.model", "n"}}})
                ->settings()
                .llm.model,
            "n");
}

}  // namespace
}  // namespace chela::config
