#include "llm/models.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace chela::llm {
namespace {

std::string shipped() {
  std::ifstream file(CHELA_SOURCE_DIR "/share/models/catalog.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Catalog, TheShippedOneKnowsTheLocalModel) {
  const Result<Catalog> catalog = Catalog::parse(shipped());
  ASSERT_TRUE(catalog) << catalog.error().text();
  const ModelInfo local = catalog->find("local/small");
  EXPECT_EQ(local.prompt, PromptStyle::kMinimal);
  EXPECT_GT(local.context_tokens, 0);
  EXPECT_EQ(local.files.size(), 2u);
  EXPECT_EQ(catalog->find("gpt-4o-mini").context_tokens, 128000);
  EXPECT_EQ(catalog->find("openai/gpt-4o-mini").context_tokens, 128000);
}

TEST(Catalog, SaysWhichModelsAreOfferedToolsInTheirPrompt) {
  const Result<Catalog> catalog = Catalog::parse(shipped());
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
  const Result<Catalog> catalog = Catalog::parse(
      R"({"models":[{"id":"a","price":{"input":2,"output":10,"cached_input":0.5}},{"id":"b","price":{"input":2,"output":10}},
                    {"id":"c"},{"id":"free","price":{}}]})");
  ASSERT_TRUE(catalog) << catalog.error().text();
  const Usage usage{.input_tokens = 1'000'000, .output_tokens = 100'000, .cached_tokens = 400'000};
  EXPECT_DOUBLE_EQ(cost_of(usage, catalog->find("a").price.value()), 1.2 + 0.2 + 1.0);
  EXPECT_DOUBLE_EQ(cost_of(usage, catalog->find("x/b").price.value()), 3.0)
      << "the cache's price is not known";
  EXPECT_FALSE(catalog->find("c").price);
  EXPECT_EQ(cost_of(usage, catalog->find("free").price.value()), 0);
}

TEST(Catalog, TheShippedPricesAreThoseOfTheModelItself) {
  const Result<Catalog> catalog = Catalog::parse(shipped());
  ASSERT_TRUE(catalog);
  EXPECT_EQ(catalog->find("gpt-4o-2024-08-06").price->input, 2.5);
  EXPECT_EQ(catalog->find("gpt-4o-mini-2024-07-18").price->input, 0.15);
  EXPECT_EQ(catalog->find("anthropic/claude-haiku-4-5").price->output, 4);
  EXPECT_EQ(catalog->find("local/small").price->output, 0);
}

TEST(Catalog, TheLongestBeginningWins) {
  const Result<Catalog> catalog = Catalog::parse(
      R"({"models":[{"id":"a*","context_tokens":1},{"id":"ab*","context_tokens":2},{"id":"abc","context_tokens":3}]})");
  ASSERT_TRUE(catalog);
  EXPECT_EQ(catalog->find("ax").context_tokens, 1);
  EXPECT_EQ(catalog->find("abx").context_tokens, 2);
  EXPECT_EQ(catalog->find("abc").context_tokens, 3);
  const ModelInfo unknown = catalog->find("x/y");
  EXPECT_EQ(unknown.id, "x/y");
  EXPECT_EQ(unknown.context_tokens, 0);
  EXPECT_EQ(unknown.prompt, PromptStyle::kFull);
}

TEST(Catalog, SaysWhichEntryIsWrong) {
  for (const std::string_view text :
       {R"(nothing)", R"({})", R"({"models":[{}]})", R"({"models":[{"id":"a","prompt":"short"}]})",
        R"({"models":[{"id":"a","tools":"xml"}]})", R"({"models":[{"id":"a","context_tokens":-1}]})",
        R"({"models":[{"id":"a","price":2}]})", R"({"models":[{"id":"a","price":{"input":-1}}]})",
        R"({"models":[{"id":"a","price":{"output":"x"}}]})", R"({"models":[{"id":"a","files":[1]}]})"}) {
    const Result<Catalog> catalog = Catalog::parse(text);
    ASSERT_FALSE(catalog) << text;
    EXPECT_EQ(catalog.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(catalog.error().message.starts_with("model catalog: "));
  }
}

}  // namespace
}  // namespace chela::llm
