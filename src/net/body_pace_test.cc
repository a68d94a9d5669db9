#include "net/body_pace.h"

#include <gtest/gtest.h>

namespace chela::net {
namespace {

using namespace std::chrono_literals;

constexpr auto kMost = 30s;

TEST(BodyPace, IsTheWholeTimeForWhoSendsNothing) {
  const SteadyTime now{};
  BodyPace pace(kMost);
  EXPECT_EQ(pace.wait(now), now + kMost);
  EXPECT_EQ(pace.wait(now + 10s), now + kMost) << "to be waited for again gives nothing";
}

TEST(BodyPace, GivesBackWhatWouldTakeSoLongAtTheSlowestRate) {
  SteadyTime now{};
  BodyPace pace(kMost);
  pace.wait(now);
  now += 20s;
  pace.came(now, 5 * kSlowestBodyRate);
  EXPECT_EQ(pace.wait(now), now + 15s);
  pace.came(now, 1000 * kSlowestBodyRate);
  EXPECT_EQ(pace.wait(now), now + kMost) << "nothing is saved up";
}

TEST(BodyPace, KeepsWhoComesAtTheSlowestRateAndEndsWhoDrips) {
  SteadyTime now{};
  BodyPace slow(kMost);
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_GT(slow.wait(now), now + 1s) << i;
    now += 1s;
    slow.came(now, kSlowestBodyRate);
  }
  BodyPace drip(kMost);
  SteadyTime over = drip.wait(now);
  const SteadyTime begun = now;
  while (over > now + 1s) {
    now += 1s;
    drip.came(now, 1);
    over = drip.wait(now);
    ASSERT_LT(now, begun + 2 * kMost);
  }
}

TEST(BodyPace, DoesNotCountTheTimeInWhichNobodyWaits) {
  SteadyTime now{};
  BodyPace pace(kMost);
  pace.wait(now);
  now += 10s;
  pace.pause(now);
  now += 1h;
  pace.pause(now);
  EXPECT_EQ(pace.wait(now), now + 20s);
}

TEST(BodyPace, IsOverAtItsEnd) {
  SteadyTime now{};
  BodyPace pace(kMost);
  pace.wait(now);
  now += 1h;
  pace.pause(now);
  EXPECT_EQ(pace.wait(now), now);
}

}  // namespace
}  // namespace chela::net
