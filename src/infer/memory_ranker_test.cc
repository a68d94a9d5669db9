#include "infer/memory_ranker.h"

#include <gtest/gtest.h>

#include "infer/fake_models.h"
#include "infer/limits.h"

namespace chela::infer {
namespace {

std::vector<std::string> texts_of(const Result<std::vector<RankedSentence>>& ranked) {
  std::vector<std::string> texts;
  for (const RankedSentence& each : *ranked) texts.push_back(each.text);
  return texts;
}

TEST(MemoryRanker, TheSentenceThatSharesMostComesFirst) {
  WordEmbedder embedder;
  const auto ranked =
      rank_sentences(embedder, "when is my dentist",
                     {"The car is blue. My dentist is on Friday.", "When is my dentist again?"}, 0.3F);
  EXPECT_EQ(texts_of(ranked), std::vector<std::string>{"My dentist is on Friday."});
  EXPECT_TRUE(rank_sentences(embedder, "when is my dentist", {}, 0.3F)->empty());
  EXPECT_TRUE(rank_sentences(embedder, "when is my dentist", {"Grass grows green."}, 0.3F)->empty());
}

TEST(MemoryRanker, SoManyAreQuoted) {
  WordEmbedder embedder;
  std::vector<std::string> sources;
  for (size_t i = 0; i < kMaxQuotedMemories + 2; ++i)
    sources.push_back(fmt::format("My dentist is on Friday {}.", i));
  EXPECT_EQ(rank_sentences(embedder, "my dentist", sources, 0.0F)->size(), kMaxQuotedMemories);
}

TEST(MemoryRanker, SoManyAreLookedAt) {
  WordEmbedder embedder;
  std::string source;
  for (size_t i = 0; i < kMaxRankedSentences + 10; ++i)
    source += fmt::format("Line number {} says little. ", i);
  ASSERT_TRUE(rank_sentences(embedder, "my dentist", {source}, 0.0F));
  EXPECT_EQ(embedder.embedded, kMaxRankedSentences + 1);  // and the question
}

}  // namespace
}  // namespace chela::infer
