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
        R"({"models":[{"id":"a","context_tokens":-1}]})", R"({"models":[{"id":"a","files":[1]}]})"}) {
    const Result<Catalog> catalog = Catalog::parse(text);
    ASSERT_FALSE(catalog) << text;
    EXPECT_EQ(catalog.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(catalog.error().message.starts_with("model catalog: "));
  }
}

}  // namespace
}  // namespace chela::llm
