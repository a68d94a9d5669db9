#include "infer/examples.h"

#include <gtest/gtest.h>

#include <fstream>

#include "infer/fake_models.h"

namespace chela::infer {
namespace {

class Examples : public testing::Test {
 protected:
  Examples() { std::filesystem::create_directories(folder_); }
  ~Examples() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("chela_examples_" + std::to_string(::getpid()));
  WordEmbedder embedder_;
};

TEST_F(Examples, OurOwnAreWellFormed) {
  const auto examples = parse_examples(builtin_examples());
  ASSERT_TRUE(examples);
  EXPECT_GT(examples->size(), 100U);
}

TEST_F(Examples, AWrongLineIsNamed) {
  const auto examples = parse_examples("# comment\ntime\twhat time is it\nno tab here\n");
  ASSERT_FALSE(examples);
  EXPECT_NE(examples.error().message.find("line 3"), std::string::npos);
}

TEST_F(Examples, VectorsAreComputedOnceForAContent) {
  const std::vector<std::string> texts = {"a b", "c d"};
  const auto first = cached_vectors(embedder_, texts, folder_ / "cache");
  ASSERT_TRUE(first);
  EXPECT_EQ(embedder_.embedded, 2U);
  EXPECT_EQ(*cached_vectors(embedder_, texts, folder_ / "cache"), *first);
  EXPECT_EQ(embedder_.embedded, 2U);
  ASSERT_TRUE(cached_vectors(embedder_, {"a b", "c e"}, folder_ / "cache"));
  EXPECT_EQ(embedder_.embedded, 4U);
}

TEST_F(Examples, ADamagedCacheIsComputedAgain) {
  const std::vector<std::string> texts = {"a b", "c d"};
  const auto first = cached_vectors(embedder_, texts, folder_);
  for (const auto& file : std::filesystem::directory_iterator(folder_))
    std::filesystem::resize_file(file.path(), 40);
  EXPECT_EQ(*cached_vectors(embedder_, texts, folder_), *first);
  EXPECT_EQ(embedder_.embedded, 4U);
  EXPECT_EQ(*cached_vectors(embedder_, texts, folder_), *first);
  EXPECT_EQ(embedder_.embedded, 4U);
}

TEST_F(Examples, AFolderThatCannotBeWrittenIsNoError) {
  EXPECT_TRUE(cached_vectors(embedder_, {"a"}, "/proc/nothing/here"));
}

}  // namespace
}  // namespace chela::infer
