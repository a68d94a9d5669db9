#include "config/config.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/limits.h"

namespace chela::config {
namespace {

Sources with_file(std::string text) {
  Sources sources;
  sources.file_path = "config.toml";
  sources.file_text = std::move(text);
  return sources;
}

TEST(Config, DefaultsAreTheLocalModelOnLoopback) {
  const auto config = Config::load({});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->settings().llm.backend, LlmBackend::kLocal);
  EXPECT_EQ(config->settings().llm.model, "local/small");
  EXPECT_EQ(config->settings().gateway.host, "127.0.0.1");
  EXPECT_EQ(config->settings().gateway.port, 3000);
  EXPECT_EQ(config->settings().limits.body_bytes, 1024u * 1024);
  EXPECT_EQ(config->settings().agent.max_tool_iterations, 50);
  EXPECT_FALSE(config->settings().llm.temperature);
}

TEST(Config, TheHigherLayerWins) {
  Sources sources = with_file("[gateway]\nport = 4000\n");
  sources.settings["gateway.port"] = "3500";
  EXPECT_EQ(Config::load(sources)->settings().gateway.port, 4000);
  sources.environment["GATEWAY_PORT"] = "5000";
  EXPECT_EQ(Config::load(sources)->settings().gateway.port, 5000);
  sources.environment["CHELA_GATEWAY_PORT"] = "6000";
  EXPECT_EQ(Config::load(sources)->settings().gateway.port, 6000);
  sources.flags = {{"gateway.port", "7000"}};
  const auto config = Config::load(sources);
  EXPECT_EQ(config->settings().gateway.port, 7000);
  EXPECT_EQ(config->explain("gateway.port")->layer, Layer::kFlag);
}

TEST(Config, AnEmptyVariableIsNotSet) {
  Sources sources;
  sources.environment["GATEWAY_PORT"] = "";
  EXPECT_EQ(Config::load(sources)->settings().gateway.port, 3000);
}

TEST(Config, ASwitchOfAnotherSystemMayCountByBeingThere) {
  Sources sources;
  sources.environment["IRONCLAW_RECORD_TRACE"] = "please";
  EXPECT_TRUE(Config::load(sources)->settings().traces.record);
  sources.environment["CHELA_TRACES_RECORD"] = "false";
  EXPECT_FALSE(Config::load(sources)->settings().traces.record);
  sources.environment["CHELA_TRACES_RECORD"] = "please";  // ours has to be a truth
  EXPECT_EQ(Config::load(sources).error().code, Code::kInvalidArgument);
}

TEST(Config, ErrorsNameFileLineKeyAndWhatWasExpected) {
  EXPECT_EQ(Config::load(with_file("\n[gateway]\nport = 'x'\n")).error().message,
            "config.toml:3: gateway.port must be a whole number from 0 to 65535, not 'x'");
  EXPECT_EQ(Config::load(with_file("[gateway]\nprot = 1\n")).error().message,
            "config.toml:2: there is no key 'gateway.prot'; did you mean 'gateway.port'?");
  EXPECT_EQ(Config::load(with_file("[gateway\n")).error().code, Code::kInvalidArgument);
  Sources sources;
  sources.environment["GATEWAY_PORT"] = "70000";
  EXPECT_EQ(Config::load(sources).error().message,
            "GATEWAY_PORT: gateway.port must be a whole number from 0 to 65535, not '70000'");
  sources.environment = {{"CHELA_GATEWAY_PROT", "1"}};
  EXPECT_EQ(Config::load(sources).error().code, Code::kInvalidArgument);
  sources.environment = {{"CHELA_HOME", "/x"}};
  EXPECT_TRUE(Config::load(sources));
}

TEST(Config, AWrongValueInTheFileCountsAlsoWhereAHigherLayerHidesIt) {
  Sources sources = with_file("[gateway]\nport = 'many'\n");
  sources.environment["CHELA_GATEWAY_PORT"] = "4000";
  EXPECT_FALSE(Config::load(sources));
  sources = with_file("[llm]\napi_key = 'plain'\n");
  sources.environment["LLM_API_KEY"] = "another";
  EXPECT_FALSE(Config::load(sources));
}

TEST(Config, TheBackendFollowsWhatIsConfigured) {
  Sources sources;
  sources.environment["OPENAI_API_KEY"] = "sk-1234567";
  auto config = Config::load(sources);
  EXPECT_EQ(config->settings().llm.backend, LlmBackend::kOpenAi);
  EXPECT_EQ(config->settings().llm.base_url, "https://api.openai.com/v1");
  EXPECT_EQ(config->settings().llm.api_key, "sk-1234567");
  sources.environment["LLM_BASE_URL"] = "http://localhost:1/v1/";
  config = Config::load(sources);
  EXPECT_EQ(config->settings().llm.backend, LlmBackend::kOpenAiCompatible);
  EXPECT_EQ(config->settings().llm.base_url, "http://localhost:1/v1");
  EXPECT_EQ(config->settings().llm.api_key, "") << "OpenAI's key must not go to another host";
  sources.environment = {{"LLM_BACKEND", "Groq"}, {"LLM_MODEL", "m"}};
  config = Config::load(sources);
  EXPECT_EQ(config->settings().llm.backend, LlmBackend::kProvider);
  EXPECT_EQ(config->settings().llm.provider, "groq");
  EXPECT_EQ(config->settings().llm.base_url, "");
  sources.check_provider = [](const std::string& name) -> Result<> {
    return fail(Code::kUnsupported, "no {}", name);
  };
  EXPECT_EQ(Config::load(sources).error().message, "no groq");
  sources.environment = {{"LLM_BACKEND", "ollama"}};
  EXPECT_EQ(Config::load(sources)->settings().llm.model, "llama3");
  sources.environment = {{"LLM_BACKEND", "openai_compatible"}};
  EXPECT_FALSE(Config::load(sources));
  sources.environment = {{"LLM_BASE_URL", "localhost:80"}};
  EXPECT_FALSE(Config::load(sources));
}

TEST(Config, AModelThatWasStoredIsOneOfTheCatalog) {
  const auto naming = [](std::map<std::string, std::string> environment,
                         std::map<std::string, std::string> stored) {
    const auto config = Config::load({.environment = std::move(environment), .settings = std::move(stored)});
    return config->settings().llm.model_naming;
  };
  EXPECT_EQ(naming({{"LLM_BACKEND", "groq"}, {"LLM_MODEL", "m"}}, {}), ModelNaming::kBackend);
  EXPECT_EQ(naming({{"LLM_BACKEND", "groq"}}, {}), ModelNaming::kBackend) << "its own default";
  EXPECT_EQ(naming({{"LLM_BACKEND", "groq"}}, {{"llm.model", "anthropic/m"}}), ModelNaming::kCatalog);
  EXPECT_EQ(naming({{"LLM_BACKEND", "groq"}, {"LLM_MODEL", "m"}}, {{"llm.model", "x"}}),
            ModelNaming::kBackend);
  EXPECT_EQ(naming({{"LLM_MODEL", "anthropic/m"}}, {}), ModelNaming::kCatalog) << "nobody named a backend";
}

TEST(Config, SecretsAreNeverShown) {
  Sources sources;
  sources.environment["LLM_API_KEY"] = "top-secret-key";
  sources.environment["LLM_BASE_URL"] = "http://h";
  const auto config = Config::load(sources);
  EXPECT_EQ(config->explain("llm.api_key")->value, "[hidden]");
  EXPECT_EQ(config->secret_values(), std::vector<std::string>{"top-secret-key"});
}

TEST(Config, SecretsMayLieInTheVault) {
  Sources sources =
      with_file("[llm]\nbase_url = 'http://h'\napi_key = 'secret:MY_KEY'\n[gateway]\nuser_id = 'ada'\n");
  EXPECT_EQ(Config::load(sources).error().code, Code::kUnsupported);
  std::vector<std::string> asked;
  sources.secrets = [&asked](const SecretReference& reference) -> Result<std::string> {
    asked = {reference.name, reference.user, reference.master_key};
    return "from-the-vault";
  };
  sources.environment["SECRETS_MASTER_KEY"] = "master";
  const auto config = Config::load(sources);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(asked, (std::vector<std::string>{"MY_KEY", "ada", "master"}));
  EXPECT_EQ(config->settings().llm.api_key, "from-the-vault");
  EXPECT_EQ(config->settings().secrets.master_key, "master");
  EXPECT_EQ(config->explain("llm.api_key")->value, "secret:MY_KEY");
  EXPECT_EQ(config->secret_values(), (std::vector<std::string>{"from-the-vault", "master"}));
  // What a higher layer hides is not asked for.
  asked.clear();
  sources.environment["LLM_API_KEY"] = "from-outside";
  EXPECT_EQ(Config::load(sources)->settings().llm.api_key, "from-outside");
  EXPECT_TRUE(asked.empty());
  sources.environment["LLM_API_KEY"] = "secret:OTHER";
  sources.secrets = [](const SecretReference&) -> Result<std::string> {
    return fail(Code::kNotFound, "no such secret");
  };
  const auto missing = Config::load(sources);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message, "LLM_API_KEY: llm.api_key = secret:OTHER: no such secret");
  sources.environment["LLM_API_KEY"] = "secret:";
  EXPECT_EQ(Config::load(sources).error().code, Code::kInvalidArgument);
  sources.environment = {{"SECRETS_MASTER_KEY", "secret:ITSELF"}};
  sources.file_text.clear();
  EXPECT_EQ(Config::load(sources).error().code, Code::kInvalidArgument);
}

TEST(Config, ExtraHeaders) {
  Sources sources;
  sources.environment = {{"LLM_BASE_URL", "http://h"}, {"LLM_EXTRA_HEADERS", "X-A: 1, X-B:2"}};
  const auto headers = Config::load(sources)->settings().llm.extra_headers;
  ASSERT_EQ(headers.size(), 2u);
  EXPECT_EQ(headers[0], (std::pair<std::string, std::string>{"X-A", "1"}));
  sources.environment["LLM_EXTRA_HEADERS"] = "nonsense";
  EXPECT_FALSE(Config::load(sources));
}

TEST(Config, WhatStandsBesideTheModelUnderIronClawsNames) {
  const LlmSettings plain = Config::load({})->settings().llm;
  EXPECT_EQ(plain.breaker_threshold, 0);
  EXPECT_EQ(plain.breaker_recovery, 30s);
  EXPECT_EQ(plain.failover_threshold, 3);
  EXPECT_EQ(plain.failover_cooldown, 300s);
  EXPECT_TRUE(plain.fallback.empty());
  Sources sources;
  sources.environment = {{"CIRCUIT_BREAKER_THRESHOLD", "5"},
                         {"CIRCUIT_BREAKER_RECOVERY_SECS", "7"},
                         {"LLM_FAILOVER_THRESHOLD", "2"},
                         {"LLM_FAILOVER_COOLDOWN_SECS", "5m"},
                         {"NEARAI_FALLBACK_MODEL", "zai-org/other"}};
  const LlmSettings theirs = Config::load(sources)->settings().llm;
  EXPECT_EQ(theirs.breaker_threshold, 5);
  EXPECT_EQ(theirs.breaker_recovery, 7s);
  EXPECT_EQ(theirs.failover_threshold, 2);
  EXPECT_EQ(theirs.failover_cooldown, 300s);
  EXPECT_EQ(theirs.fallback, std::vector<std::string>{"zai-org/other"});
  sources.environment["LLM_FALLBACK_MODELS"] = "groq/a, local/small,";
  EXPECT_EQ(Config::load(sources)->settings().llm.fallback,
            (std::vector<std::string>{"groq/a", "local/small"}));
  sources.environment["LLM_FALLBACK_MODELS"] = "m";
  for (size_t n = 1; n < kMaxFallbacks; ++n) sources.environment["LLM_FALLBACK_MODELS"] += ",m";
  EXPECT_TRUE(Config::load(sources));
  sources.environment["LLM_FALLBACK_MODELS"] += ",m";
  EXPECT_FALSE(Config::load(sources));
  EXPECT_FALSE(Config::load({.environment = {{"CHELA_LLM_FAILOVER_COOLDOWN", "7"}}})) << "seconds of what?";
}

TEST(Config, EveryDefaultIsValidAndEveryKeyExplained) {
  const auto config = Config::load({});
  EXPECT_EQ(config->explain_all().size(), keys().size());
  for (const Key& key : keys()) {
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_EQ(find_key(key.name), &key);
  }
  EXPECT_FALSE(config->explain("nonsense"));
}

TEST(Config, ArbitraryTextNeverCrashes) {
  EXPECT_TRUE(rc::check([](const std::string& text, const std::string& value) {
    (void)Config::load(with_file(text));
    for (const Key& key : keys()) {
      Sources sources;
      sources.flags = {{std::string(key.name), value}};
      (void)Config::load(sources);
    }
  }));
}

}  // namespace
}  // namespace chela::config
