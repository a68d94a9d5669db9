#include "bus/exec/watch.h"

#include <gtest/gtest.h>

#include <fstream>

#include "bus/exec/limits.h"
#include "testing/test_dir.h"

namespace chela::bus::exec {
namespace {

TEST(Watch, PatternsMeanFilesOfFolders) {
  EXPECT_TRUE(covers("src/**/*.ts", "src/a.ts"));
  EXPECT_TRUE(covers("src/**/*.ts", "src/a/b/c.ts"));
  EXPECT_FALSE(covers("src/**/*.ts", "lib/a.ts"));
  EXPECT_FALSE(covers("src/*.ts", "src/a/b.ts"));
  EXPECT_TRUE(covers("./src/?.ts", "src/a.ts"));
  EXPECT_TRUE(covers("**", "a/b"));
  EXPECT_TRUE(covers("**/b/**/d", "a/b/c/d"));
  EXPECT_FALSE(covers("/a/*", "a/b"));
  EXPECT_TRUE(covers("/a/*", "/a/b"));
}

TEST(Watch, SeesWhatPatternsMeanAndNothingElse) {
  const testing::TestDir dir;
  const std::filesystem::path root = dir.path();
  for (const std::string_view each : {"src/deep", "src/node_modules/x", "src/.git"})
    std::filesystem::create_directories(root / each);
  for (const std::string_view each :
       {"src/a.ts", "src/deep/b.ts", "src/c.txt", "src/node_modules/x/d.ts", "src/.git/e.ts", "other.ts"})
    std::ofstream(root / each) << "x";
  const Seen seen = look(root, {"src/**/*.ts"});
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen.contains("src/a.ts"));
  EXPECT_TRUE(seen.contains("src/deep/b.ts"));
  EXPECT_TRUE(look(root, {"nowhere/**"}).empty());
  EXPECT_EQ(look(root, {(root / "other.ts").string()}).size(), 1u);
}

TEST(Watch, LooksAtOnlySoManyFiles) {
  const testing::TestDir dir;
  for (size_t i = 0; i <= kMaxWatchedFiles; ++i)
    std::ofstream(std::filesystem::path(dir.path()) / fmt::format("{}", i));
  EXPECT_EQ(look(dir.path(), {"*"}).size(), kMaxWatchedFiles);
}

}  // namespace
}  // namespace chela::bus::exec
