#include "security/failed_logins.h"

#include <gtest/gtest.h>

#include "testing/manual_loop.h"

namespace chela::security {
namespace {

class FailedLoginsTest : public ::testing::Test {
 protected:
  void fail_often(FailedLogins& logins, std::string_view address, int times = kMaxFailedLogins) {
    for (int i = 0; i < times; ++i) EXPECT_TRUE(logins.begin(address));
  }
  testing::ManualClock clock_;
  FailedLogins logins_{clock_, {}};
};

TEST_F(FailedLoginsTest, AnAddressWaitsPastTheLimitAndIsFreeAfterTheWindow) {
  fail_often(logins_, "192.0.2.1");
  clock_.advance(1s);
  const Result<> refused = logins_.begin("192.0.2.1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kRateLimited);
  EXPECT_EQ(refused.error().retry_after, kFailedLoginWindow - 1s);
  EXPECT_TRUE(logins_.begin("192.0.2.2"));
  clock_.advance(kFailedLoginWindow - 1s);
  fail_often(logins_, "192.0.2.1");
  EXPECT_FALSE(logins_.begin("192.0.2.1"));
}

// A failure long ago does not count with one of now.
TEST_F(FailedLoginsTest, AWindowBeginsWithItsFirstFailure) {
  fail_often(logins_, "192.0.2.1", kMaxFailedLogins - 1);
  clock_.advance(kFailedLoginWindow);
  EXPECT_TRUE(logins_.begin("192.0.2.1"));
  EXPECT_TRUE(logins_.begin("192.0.2.1"));
}

TEST_F(FailedLoginsTest, TheOldestAddressIsForgottenWhenThereAreTooMany) {
  fail_often(logins_, "192.0.2.1");
  clock_.advance(1ms);
  fail_often(logins_, "192.0.2.2");
  for (size_t i = 2; i < kMaxFailedLoginAddresses; ++i) logins_.begin(fmt::format("host{}", i));
  EXPECT_FALSE(logins_.begin("192.0.2.1"));
  EXPECT_TRUE(logins_.begin("one more"));
  EXPECT_FALSE(logins_.begin("192.0.2.2"));
  EXPECT_TRUE(logins_.begin("192.0.2.1"));
}

// Right tokens, also those whose check takes its time, leave nothing behind.
TEST_F(FailedLoginsTest, WhatIsForgivenDoesNotCount) {
  for (int i = 0; i < 10 * kMaxFailedLogins; ++i) {
    EXPECT_TRUE(logins_.begin("192.0.2.1"));
    logins_.forgive("192.0.2.1");
  }
  fail_often(logins_, "192.0.2.1");
  EXPECT_FALSE(logins_.begin("192.0.2.1"));
  logins_.forgive("192.0.2.1");
  logins_.forgive("never seen");
  EXPECT_FALSE(logins_.begin("192.0.2.1"));
}

TEST_F(FailedLoginsTest, NothingIsCountedWithoutALimit) {
  FailedLogins open(clock_, {.failures = 0});
  fail_often(open, "192.0.2.1", 1000);
  EXPECT_TRUE(open.begin("192.0.2.1"));
}

TEST(LoginAddress, IsTheHostOrItsNetwork) {
  EXPECT_EQ(login_address("192.0.2.1:4000"), "192.0.2.1");
  EXPECT_EQ(login_address("[2001:db8:1:2:3:4:5:6]:4000"), "2001:db8:1:2::");
  EXPECT_EQ(login_address("[2001:db8:1:2:ffff::]:1"), login_address("[2001:db8:1:2::9]:65535"));
  EXPECT_NE(login_address("[2001:db8:1:3::1]:1"), login_address("[2001:db8:1:2::1]:1"));
}

}  // namespace
}  // namespace chela::security
