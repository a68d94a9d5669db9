#include "memory/chunker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>

namespace chela::memory {
namespace {

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Words w0 w1 ... with white space between that the index chooses.
std::string numbered(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += fmt::format("w{}{}", i, i % 7 == 0 ? "\n\n" : i % 5 == 0 ? "\t" : " ");
  return text;
}

TEST(Chunker, ShortDocumentsAreOneChunkAsTheyAre) {
  EXPECT_TRUE(chunk("").empty());
  EXPECT_TRUE(chunk(" \n\t ").empty());
  EXPECT_EQ(chunk("  one\n two  "), std::vector<std::string>{"  one\n two  "});
  EXPECT_EQ(chunk(numbered(kChunkWords)), std::vector<std::string>{numbered(kChunkWords)});
}

TEST(Chunker, LongDocumentsAreOverlappingWindows) {
  const std::vector<std::string> chunks = chunk(numbered(2000));
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(words_in(chunks[0]).front(), "w0");
  EXPECT_EQ(words_in(chunks[0]).back(), "w799");
  EXPECT_EQ(words_in(chunks[1]).front(), "w680");
  EXPECT_EQ(words_in(chunks[2]).front(), "w1360");
  EXPECT_EQ(words_in(chunks[2]).back(), "w1999");
  EXPECT_TRUE(chunks[0].contains("w14\n\nw15"));
}

TEST(Chunker, AShortRestJoinsTheChunkBefore) {
  EXPECT_EQ(chunk(numbered(kChunkWords + kMinLastWords - 1)).size(), 1u);
  EXPECT_EQ(chunk(numbered(kChunkWords + kMinLastWords)).size(), 2u);
}

TEST(Chunker, NoWordIsLostAndNoChunkIsTooLongOrTooShort) {
  rc::check([] {
    const auto count = *rc::gen::inRange<size_t>(0, 6000);
    const std::vector<std::string> chunks = chunk(numbered(count));
    size_t next = 0;  // first word that no chunk has had
    for (size_t i = 0; i < chunks.size(); ++i) {
      const std::vector<std::string> words = words_in(chunks[i]);
      const size_t start = i * (kChunkWords - kChunkOverlap);
      RC_ASSERT(start <= next);
      RC_ASSERT(words.size() < kChunkWords + kMinLastWords);
      RC_ASSERT(chunks.size() == 1 || words.size() >= kMinLastWords + kChunkOverlap);
      for (size_t k = 0; k < words.size(); ++k) RC_ASSERT(words[k] == fmt::format("w{}", start + k));
      next = start + words.size();
    }
    RC_ASSERT(next == count);
  });
}

TEST(Chunker, AnyBytesAreTaken) {
  rc::check([] {
    const auto bytes = *rc::gen::arbitrary<std::string>();
    for (const std::string& each : chunk(bytes)) RC_ASSERT(bytes.contains(each));
  });
}

}  // namespace
}  // namespace chela::memory
