#include "llm/providers.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "config/toml_value.h"

namespace chela::llm {
namespace {

DataFile file(std::string_view text, std::string path = "ours.toml") {
  Result<json::Value> root = config::parse_toml_value(text, path);
  EXPECT_TRUE(root) << root.error().text();
  return {.path = std::move(path), .root = std::move(*root)};
}

Result<Providers> shipped() {
  std::ifstream in(CHELA_SOURCE_DIR "/share/providers.toml");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return Providers::parse({file(text, "share/providers.toml")});
}

TEST(Providers, TheShippedOnesAreWhole) {
  const Result<Providers> all = shipped();
  ASSERT_TRUE(all) << all.error().text();
  for (const std::string_view id :
       {"openai",         "deepseek", "groq",      "openrouter",  "mistral",    "together",
        "fireworks",      "ollama",   "vllm",      "lmstudio",    "perplexity", "cohere",
        "ai21",           "cerebras", "sambanova", "huggingface", "xai",        "replicate",
        "github_copilot", "qwen",     "minimax",   "zhipu",       "moonshot",   "baidu",
        "nvidia",         "venice",   "ionet",     "yandex",      "cloudflare", "tinfoil"})
    EXPECT_NE(all->find(id), nullptr) << id;
  EXPECT_EQ(all->find("copilot"), all->find("github_copilot"));
  EXPECT_EQ(all->find("nobody"), nullptr);
  // Facts of their protocols: without them every request of a kind is refused.
  EXPECT_EQ(all->find("openai")->quirks.call_ids, CallIds::kPlain);
  EXPECT_EQ(all->find("anthropic")->quirks.call_ids, CallIds::kPlain);
  const Quirks& mistral = all->find("mistral")->quirks;
  EXPECT_EQ(mistral.call_ids, CallIds::kNine);
  EXPECT_FALSE(mistral.stream_options);
  EXPECT_EQ(mistral.renamed_params.front().second, "random_seed");
  EXPECT_TRUE(all->find("deepseek")->quirks.wants_reasoning);
  EXPECT_EQ(all->find("azure")->quirks.renamed_params.front().second, "max_completion_tokens");
  EXPECT_EQ(all->find("openai")->quirks.thinking_unsupported_params.front(), "temperature");
}

TEST(Providers, APersonsFileChangesKeysAndAddsEntries) {
  const Result<Providers> all =
      Providers::parse({file("[providers.a]\nbase_url = \"https://a.test/v1\"\nkey_env = "
                             "[\"A_KEY\"]\nheaders = { x = \"1\" }\n"),
                        file("[providers.a]\nbase_url = \"http://10.0.0.1/v1\"\n[providers.mine]\naliases = "
                             "[\"m\"]\nbase_url = "
                             "\"http://localhost:1/v1\"\nkey = \"optional\"\ntool_names = "
                             "\"plain\"\nunsupported_params = [\"seed\"]\n",
                             "theirs.toml")});
  ASSERT_TRUE(all) << all.error().text();
  const ProviderEntry* a = all->find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->base_url, "http://10.0.0.1/v1");
  EXPECT_EQ(a->key_env, (std::vector<std::string>{"A_KEY"}));
  EXPECT_EQ(a->key, KeyNeed::kRequired);
  EXPECT_EQ(a->headers.size(), 1u);
  const ProviderEntry* mine = all->find("m");
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(mine->name, "mine");
  EXPECT_EQ(mine->key, KeyNeed::kOptional);
  EXPECT_EQ(mine->quirks.tool_names, ToolNames::kPlain);
  EXPECT_EQ(mine->quirks.unsupported_params, (std::vector<std::string>{"seed"}));
}

TEST(Providers, AMistakeNamesFileProviderAndKey) {
  const auto mistake = [](std::string_view text) {
    const Result<Providers> read =
        Providers::parse({file("[providers.a]\nbase_url = \"https://a.test\"\nkey_env = [\"K\"]\n"),
                          file(text, "theirs.toml")});
    EXPECT_FALSE(read) << text;
    if (!read) EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(mistake("[providers.b]\nkey = \"optional\"\n"),
            "theirs.toml: provider 'b': 'base_url' is missing");
  EXPECT_EQ(mistake("[providers.a]\nprotocol = \"carrier_pigeon\"\n").substr(0, 70),
            "theirs.toml: provider 'a': 'protocol' is 'carrier_pigeon'; use openai_");
  for (const std::string_view text :
       {"[providers.B]\nbase_url = \"https://b.test\"\nkey = \"optional\"\n",
        "[providers.a]\nkeys = 1\n",
        "[providers.a]\nbase_url = \"ftp://a\"\n",
        "[providers.a]\nkey_env = []\n",
        "[providers.a]\nkey_env = [\"A B\"]\n",
        "[providers.a]\nkey_header = \"a b\"\n",
        "[providers.a]\ncall_ids = \"long\"\n",
        "[providers.a]\nrenamed_params = { what = \"x\" }\n",
        "[providers.a]\nrenamed_params = { seed = \"\" }\n",
        "[providers.a]\nthinking_models = [\"\"]\n",
        "[providers.a]\nthinking_unsupported_params = [\"what\"]\n",
        "[providers.a]\nprotocol = \"gemini\"\nstream_options = false\n",
        "[providers.a]\nheaders = { \"x\" = \"a\\r\\nb\" }\n",
        "[providers.a]\nheaders = { \"x y\" = \"1\" }\n",
        "[providers.a]\nunsupported_params = [\"model\"]\n",
        "[providers.a]\ntool_names = \"all\"\n",
        "[providers.a]\nstrict_schemas = 1\n",
        "[providers]\na = 1\n",
        "[provider.a]\nx = 1\n",
        "providers = 1\n",
        "[providers.b]\naliases = [\"a\"]\nbase_url = \"https://b.test\"\nkey = \"optional\"\n"})
    EXPECT_TRUE(mistake(text).starts_with("theirs.toml: ")) << text << mistake(text);
}

}  // namespace
}  // namespace chela::llm
