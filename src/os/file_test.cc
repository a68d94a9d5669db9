#include "os/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "os/file_lock.h"
#include "testing/test_dir.h"

namespace chela::os {
namespace {

using testing::TestDir;

mode_t mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

TEST(File, WritesWholeAndReadsBack) {
  const TestDir dir;
  const std::string path = dir.path() + "/a";
  ASSERT_TRUE(write_file_atomic(path, "one", 0600));
  EXPECT_EQ(mode_of(path), 0600u);
  const std::string bytes("two\0three", 9);
  ASSERT_TRUE(write_file_atomic(path, bytes, 0644));
  EXPECT_EQ(mode_of(path), 0644u);
  EXPECT_EQ(read_file(path, 9).value(), bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(File, ErrorsSayPathAndReason) {
  const TestDir dir;
  const Result<std::string> missing = read_file(dir.path() + "/none", 10);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().message.find("/none: No such file"), std::string::npos)
      << missing.error().message;
  ASSERT_TRUE(write_file_atomic(dir.path() + "/big", "12345", 0600));
  EXPECT_EQ(read_file(dir.path() + "/big", 4).error().code, Code::kTooLarge);
  EXPECT_TRUE(read_file(dir.path() + "/big", 5));
  EXPECT_FALSE(write_file_atomic(dir.path() + "/no/folder", "x", 0600));
  ASSERT_TRUE(make_private_dir(dir.path() + "/folder"));
  EXPECT_FALSE(write_file_atomic(dir.path() + "/folder", "x", 0600));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}),
            2);  // no temporary file stays
  EXPECT_TRUE(read_file("/proc/self/status", 1 << 20)) << "files whose size is not known are read too";
}

TEST(File, PrivateDirectoriesAreForOneUser) {
  const TestDir dir;
  const std::string deep = dir.path() + "/a/b/c";
  ASSERT_TRUE(make_private_dir(deep));
  EXPECT_EQ(mode_of(deep), 0700u);
  EXPECT_EQ(mode_of(dir.path() + "/a"), 0700u);
  std::filesystem::permissions(deep, std::filesystem::perms::all);
  ASSERT_TRUE(make_private_dir(deep + "/"));
  EXPECT_EQ(mode_of(deep), 0700u);
  ASSERT_TRUE(write_file_atomic(dir.path() + "/file", "x", 0600));
  EXPECT_EQ(make_private_dir(dir.path() + "/file").error().code, Code::kConflict);
}

TEST(FileLock, SaysWhoHoldsIt) {
  const TestDir dir;
  const std::string path = dir.path() + "/lock";
  {
    const Result<FileLock> held = FileLock::acquire(path);
    ASSERT_TRUE(held);
    const Result<FileLock> second = FileLock::acquire(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::kConflict);
    EXPECT_EQ(second.error().detail("pid"), std::to_string(::getpid()));
  }
  EXPECT_TRUE(FileLock::acquire(path));
  EXPECT_FALSE(FileLock::acquire(dir.path() + "/no/lock"));
}

}  // namespace
}  // namespace chela::os
