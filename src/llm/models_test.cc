#include "llm/models.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "config/toml_value.h"

namespace chela::llm {
namespace {

DataFile file(std::string_view text, std::string path = "ours.toml") {
  Result<json::Value> root = config::parse_toml_value(text, path);
  EXPECT_TRUE(root) << root.error().text();
  return {.path = std::move(path), .root = std::move(*root)};
}

Result<Catalog> parse(std::string_view text) { return Catalog::parse({file(text)}); }

DataFile shipped_file(std::string_view name) {
  std::ifstream in(CHELA_SOURCE_DIR "/share/" + std::string(name));
  return file(std::string{std::istreambuf_iterator<char>(in), {}}, std::string(name));
}

Result<Catalog> shipped() { return Catalog::parse({shipped_file("models.toml")}); }

TEST(Catalog, TheShippedOneKnowsTheLocalModel) {
  const Result<Catalog> catalog = shipped();
  ASSERT_TRUE(catalog) << catalog.error().text();
  const ModelInfo local = catalog->find("local/small");
  EXPECT_EQ(local.prompt, PromptStyle::kMinimal);
  EXPECT_GT(local.context_tokens, 0);
  EXPECT_EQ(local.files.size(), 2u);
  EXPECT_EQ(catalog->find("gpt-4o-mini").context_tokens, 128000);
  EXPECT_EQ(catalog->find("openai/gpt-4o-mini").context_tokens, 128000);
}

TEST(Catalog, SaysWhichModelsAreOfferedToolsInTheirPrompt) {
  const Result<Catalog> catalog = shipped();
  ASSERT_TRUE(catalog) << catalog.error().text();
  EXPECT_EQ(catalog->find("gpt-4o-mini").tools, ToolCalling::kNative);
  EXPECT_EQ(catalog->find("nobody-knows-it").tools, ToolCalling::kNative);
  EXPECT_EQ(catalog->find("llama3:8b").tools, ToolCalling::kPrompted);
  EXPECT_EQ(catalog->find("llama3.1:8b").tools, ToolCalling::kNative);
  EXPECT_EQ(catalog->find("llama3.3").tools, ToolCalling::kNative);
  EXPECT_EQ(catalog->find("gemma3:12b").tools, ToolCalling::kPrompted);
  for (const ToolCalling each : {ToolCalling::kNative, ToolCalling::kPrompted})
    EXPECT_EQ(tool_calling_from_name(tool_calling_name(each)), each);
}

TEST(Catalog, PricesGiveCosts) {
  const Result<Catalog> catalog = parse(
      "[models.x]\na = { price = { input = 2, output = 10, cached_input = 0.5 } }\nb = { price = { input = "
      "2, output = 10 } }\n"
      "c = {}\nfree = { price = { input = 0, output = 0 } }\n");
  ASSERT_TRUE(catalog) << catalog.error().text();
  const Usage usage{.input_tokens = 1'000'000, .output_tokens = 100'000, .cached_tokens = 400'000};
  EXPECT_DOUBLE_EQ(cost_of(usage, catalog->find("a").price.value()), 1.2 + 0.2 + 1.0);
  EXPECT_DOUBLE_EQ(cost_of(usage, catalog->find("x/b").price.value()), 3.0)
      << "the cache's price is not known";
  EXPECT_FALSE(catalog->find("c").price);
  EXPECT_EQ(catalog->find("b").price->cache_write, 2) << "as other input";
  EXPECT_EQ(cost_of(usage, catalog->find("free").price.value()), 0);
}

TEST(Catalog, TheShippedPricesAreThoseOfTheModelItself) {
  const Result<Catalog> catalog = shipped();
  ASSERT_TRUE(catalog);
  EXPECT_EQ(catalog->find("gpt-4o-2024-08-06").price->input, 2.5);
  EXPECT_EQ(catalog->find("claude-sonnet-4-6").price->cache_write, 3.75) << "writing costs a quarter more";
  EXPECT_EQ(catalog->find("gpt-4o-mini-2024-07-18").price->input, 0.15);
  EXPECT_EQ(catalog->find("anthropic/claude-haiku-4-5").price->output, 5);
  EXPECT_EQ(catalog->find("gemini-2.5-flash").price->output, 2.5);
  EXPECT_EQ(catalog->find("gpt-5").price->output, 10);
  EXPECT_EQ(catalog->find("local/small").price->output, 0);
}

TEST(Catalog, APriceIsNotThatOfADearerVariant) {
  const Result<Catalog> catalog = shipped();
  ASSERT_TRUE(catalog);
  const auto output = [&](std::string_view id) {
    const ModelInfo info = catalog->find(id);
    EXPECT_GT(info.context_tokens, 0) << id;
    return info.price ? std::optional(info.price->output) : std::nullopt;
  };
  EXPECT_EQ(output("gpt-5-pro"), 120);
  EXPECT_EQ(output("gpt-5-pro-2025-10-06"), 120);
  EXPECT_EQ(output("gpt-5.2-pro"), 168);
  EXPECT_EQ(output("o3-pro"), 80);
  EXPECT_EQ(output("o1-pro-2025-03-19"), 600);
  EXPECT_EQ(output("gpt-4o-2024-05-13"), 15);
  // The same model at another date, and others of which nobody knows.
  for (const std::string_view dated : {"gpt-3.5-turbo-0125", "gemini-2.0-flash-001",
                                       "claude-3-5-sonnet-latest", "claude-3-7-sonnet-20250219"})
    EXPECT_TRUE(output(dated)) << dated;
  for (const std::string_view other :
       {"gpt-4o-audio-preview", "gpt-5-ultra", "o3-deep-research", "gpt-4o-", "gpt-4o-1"})
    EXPECT_FALSE(output(other)) << other;
  EXPECT_TRUE(catalog->find("gpt-4o-audio-preview").sees_images) << "all but the price";
  // It bills what it chooses.
  for (const std::string_view routed :
       {"openrouter/auto", "openrouter", "openrouter-auto", "openrouter/openrouter/auto"})
    EXPECT_FALSE(output(routed)) << routed;
}

TEST(Catalog, TheShippedOneHasTheModelsAndAliasesOfItsForerunners) {
  const Result<Catalog> catalog = shipped();
  ASSERT_TRUE(catalog) << catalog.error().text();
  const auto named =
      std::ranges::count_if(catalog->models(), [](const ModelInfo& each) { return !each.is_pattern(); });
  EXPECT_GE(named, 47);
  EXPECT_GE(catalog->aliases().size() + 2, 46u);  // two of them are ids here
  EXPECT_EQ(catalog->find("sonar").price->input, catalog->find("perplexity/sonar").price->input);
  EXPECT_EQ(catalog->find("command-r").price->input, catalog->find("cohere/command-r").price->input);
  for (const auto& [alias, target] : catalog->aliases()) {
    const size_t slash = target.find('/');
    EXPECT_NE(catalog->of_provider(target.substr(0, slash), target.substr(slash + 1)), nullptr) << alias;
    // One that is an id too would never be looked at.
    const ModelInfo* same = nullptr;
    for (const ModelInfo& each : catalog->models()) same = each.id == alias ? &each : same;
    EXPECT_TRUE(same == nullptr || same->full_id() == target) << alias;
  }
  std::set<std::string> seen;
  for (const ModelInfo& each : catalog->models()) {
    EXPECT_TRUE(seen.insert(each.full_id()).second) << each.full_id();
    if (each.is_pattern()) continue;
    EXPECT_GT(each.context_tokens, 0) << each.full_id();
    EXPECT_EQ(each.price.has_value(), each.full_id() != "openrouter/auto") << each.full_id();
  }
}

TEST(Catalog, AnAliasIsTheModelItStandsFor) {
  const Result<Catalog> catalog = shipped();
  ASSERT_TRUE(catalog);
  EXPECT_EQ(catalog->aliased("Opus"), "anthropic/claude-opus-4-6");
  EXPECT_EQ(catalog->aliased("gpt-4o"), "");
  const ModelInfo opus = catalog->find("opus");
  EXPECT_EQ(opus.id, "opus");
  EXPECT_EQ(opus.provider, "anthropic");
  EXPECT_EQ(opus.price->output, 25);
  EXPECT_TRUE(opus.sees_images);
  EXPECT_TRUE(opus.prefills);
}

TEST(Catalog, AModelIsFoundByIdAndByTheNameItIsSentAs) {
  const Result<Catalog> catalog = shipped();
  ASSERT_TRUE(catalog);
  ASSERT_NE(catalog->of_provider("groq", "llama-3.3-70b"), nullptr);
  EXPECT_EQ(catalog->of_provider("groq", "llama-3.3-70b")->sent_as, "llama-3.3-70b-versatile");
  EXPECT_EQ(catalog->of_provider("groq", "llama-3.3-70b-versatile")->id, "llama-3.3-70b");
  EXPECT_EQ(catalog->of_provider("openai", "llama-3.3-70b"), nullptr);
  EXPECT_EQ(catalog->providers_of("llama-3.3-70b").front(), "groq");
  EXPECT_EQ(catalog->providers_of("gpt-4o-2024-08-06"), (std::vector<std::string>{"openai"}));
  EXPECT_TRUE(catalog->providers_of("small").empty()) << "a local model is named in full";
}

TEST(Catalog, APersonsFileIsUppermost) {
  const Result<Catalog> catalog = Catalog::parse(
      {shipped_file("models.toml"), file("[models.openai]\ngpt-4o = { context = 5 }\n[models.mine]\nm = { "
                                         "context = 7, sent_as = \"big/m\" }\n[aliases]\n"
                                         "fast = \"mine/m\"\n",
                                         "theirs.toml")});
  ASSERT_TRUE(catalog) << catalog.error().text();
  EXPECT_EQ(catalog->find("gpt-4o").context_tokens, 5);
  EXPECT_EQ(catalog->find("gpt-4o").price->input, 2.5);
  EXPECT_EQ(catalog->find("fast").context_tokens, 7);
}

TEST(Catalog, TheLongestBeginningWins) {
  const Result<Catalog> catalog = parse(
      "[models.p]\n\"a*\" = { context = 1 }\n\"ab*\" = { context = 2 }\nabc = { context = 3 }\nabd = { "
      "context = 4, family = true }\n");
  ASSERT_TRUE(catalog) << catalog.error().text();
  EXPECT_EQ(catalog->find("ax").context_tokens, 1);
  EXPECT_EQ(catalog->find("abx").context_tokens, 2);
  EXPECT_EQ(catalog->find("abc").context_tokens, 3);
  EXPECT_EQ(catalog->find("abcd").context_tokens, 2);
  EXPECT_EQ(catalog->find("abd-2026").context_tokens, 4);
  const ModelInfo unknown = catalog->find("x/y");
  EXPECT_EQ(unknown.id, "x/y");
  EXPECT_EQ(unknown.provider, "");
  EXPECT_EQ(unknown.context_tokens, 0);
  EXPECT_EQ(unknown.prompt, PromptStyle::kFull);
}

TEST(Catalog, AMistakeNamesFileModelAndKey) {
  const auto mistake = [](std::string_view text) {
    const Result<Catalog> read =
        Catalog::parse({file("[models.p]\na = { context = 1 }\n"), file(text, "theirs.toml")});
    EXPECT_FALSE(read) << text;
    if (!read) EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(mistake("[models.p]\na = { prompt = \"short\" }\n"),
            "theirs.toml: model 'p/a': 'prompt' is 'short'; use full or minimal");
  EXPECT_EQ(mistake("[models.p]\na = { price = { input = -1 } }\n"),
            "theirs.toml: model 'p/a': 'input' must be a number from 0 on");
  for (const std::string_view text :
       {"[models.p]\na = 1\n", "[models]\np = 1\n", "[model.p]\n", "models = 1\n",
        "[models.p]\na = { context = -1 }\n", "[models.p]\na = { price = 2 }\n",
        "[models.p]\na = { price = { output = \"x\" } }\n", "[models.p]\na = { price = { input = 3 } }\n",
        "[models.p]\na = { price = { output = 3 } }\n", "[models.p]\na = { price = {} }\n",
        "[models.p]\na = { files = [1] }\n", "[models.p]\na = { tools = \"xml\" }\n",
        "[models.p]\na = { ctx = 1 }\n", "[models.p]\na = { flags = [\"smart\"] }\n",
        "[models.p]\n\"*\" = {}\n", "[models.p]\n\"a*\" = { sent_as = \"b\" }\n", "[aliases]\nx = 1\n",
        "[aliases]\nx = \"y\"\n", "[aliases]\n\"a/b\" = \"p/a\"\n"})
    EXPECT_TRUE(mistake(text).starts_with("theirs.toml: ")) << text << mistake(text);
}

}  // namespace
}  // namespace chela::llm
