#include "os/temporary.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/test_dir.h"

namespace chela::os {
namespace {

class Temporary : public ::testing::Test {
 protected:
  testing::TestDir dir_;
  const Fd folder_{::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(Temporary, ANameThatACrashLeftIsPassedOver) {
  const Result<TemporaryFile> left = create_temporary(folder_.get(), "a", 0600, [] { return 7; });
  ASSERT_TRUE(left) << left.error().message;
  std::uint64_t next = 7;
  const Result<TemporaryFile> made = create_temporary(folder_.get(), "a", 0600, [&] { return next++; });
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(made->name, left->name);
  EXPECT_EQ(next, 9u);
}

TEST_F(Temporary, SoManyNamesAreTried) {
  ASSERT_TRUE(create_temporary(folder_.get(), "a", 0600, [] { return 7; }));
  int tries = 0;
  const Result<TemporaryFile> made = create_temporary(folder_.get(), "a.txt", 0600, [&tries] {
    ++tries;
    return 7;
  });
  ASSERT_FALSE(made);
  EXPECT_TRUE(made.error().message.contains("a.txt")) << made.error().message;
  EXPECT_EQ(tries, kMaxTemporaryNames);
}

TEST_F(Temporary, NoTwoHaveOneName) {
  EXPECT_NE(create_temporary(folder_.get(), "a", 0600)->name,
            create_temporary(folder_.get(), "a", 0600)->name);
}

}  // namespace
}  // namespace chela::os
