#include "memory/meaning.h"

#include <cmath>

#include "memory/memory_fixture.h"

namespace chela::memory {
namespace {

// Texts lie at the angle that stands in them, "at 90" say, and without one at 0, where questions are.
class AngleEmbedder final : public Embedder {
 public:
  bool ready(const Scope&) const override { return is_ready; }
  Task<Result<std::vector<Embedding>>> embed(Scope, std::vector<std::string> texts) override {
    asked = texts;
    if (fails) co_return fail(Code::kUpstream, "it fails");
    std::vector<Embedding> out;
    for (const std::string& text : texts) {
      const std::size_t at = text.find("at ");
      const double angle = at == std::string::npos ? 0 : std::stod(text.substr(at + 3)) * 3.14159 / 180;
      out.push_back({2 * std::cos(angle), 2 * std::sin(angle)});
    }
    co_return out;
  }

  bool is_ready = true;
  bool fails = false;
  std::vector<std::string> asked;
};

class MeaningTest : public MemoryTest {
 protected:
  // By words: the more needles the better.
  void put_three() {
    put("first.md", "needle needle needle at 120");
    put("second.md", "needle needle at 5 and some words");
    put("third.md", "needle at 60 and some more words than before");
  }
  std::vector<std::string> search() {
    std::vector<std::string> paths;
    const auto results = wait(workspace->search(scope, "needle", 5));
    EXPECT_TRUE(results) << results.error().text();
    for (const SearchResult& each : *results) paths.push_back(each.path);
    return paths;
  }
  AngleEmbedder embedder;
};

TEST_F(MeaningTest, WhatIsNearInMeaningComesUp) {
  put_three();
  const std::vector<std::string> by_words = {"first.md", "second.md", "third.md"};
  EXPECT_EQ(search(), by_words);
  workspace->use(embedder);
  EXPECT_EQ(search(), (std::vector<std::string>{"second.md", "first.md", "third.md"}));
  embedder.is_ready = false;
  EXPECT_EQ(search(), by_words);
}

TEST_F(MeaningTest, AnEmbedderThatFailsLeavesTheWords) {
  put_three();
  workspace->use(embedder);
  embedder.fails = true;
  EXPECT_EQ(search().front(), "first.md");
  EXPECT_EQ(embedder.asked.size(), 4u);
}

TEST_F(MeaningTest, OneHitNeedsNoOrder) {
  put("only.md", "needle");
  workspace->use(embedder);
  EXPECT_EQ(search().size(), 1u);
  EXPECT_TRUE(embedder.asked.empty());
}

TEST_F(MeaningTest, LooksAtTheBestHitsAndTheirBeginnings) {
  std::vector<store::ChunkHit> hits(kMaxRankedHits + 1);
  for (std::size_t i = 0; i < hits.size(); ++i)
    hits[i] = {.content = fmt::format("at {} {}", 90 - i, std::string(2 * kMaxEmbeddedBytes, 'x')),
               .chunk_index = static_cast<std::int64_t>(i)};
  const auto ranked = wait(by_meaning(embedder, scope, std::string(2 * kMaxEmbeddedBytes, 'q'), hits));
  ASSERT_TRUE(ranked);
  ASSERT_EQ(ranked->size(), kMaxRankedHits);
  EXPECT_EQ(ranked->front().chunk_index, static_cast<std::int64_t>(kMaxRankedHits - 1));
  for (const std::string& text : embedder.asked) EXPECT_EQ(text.size(), kMaxEmbeddedBytes);
}

}  // namespace
}  // namespace chela::memory
