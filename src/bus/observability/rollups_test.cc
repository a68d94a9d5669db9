#include "bus/observability/rollups.h"

#include <gtest/gtest.h>

#include "bus/observability/limits.h"

namespace chela::bus::observability {
namespace {

std::vector<Rollup> all(const Rollups& rollups, size_t level, std::string_view tenant = "t") {
  std::vector<Rollup> out;
  rollups.each({.tenant = std::string(tenant)}, level,
               [&](const std::string&, const Rollup& each) { out.push_back(each); });
  return out;
}

TEST(Rollups, CountByMinuteFiveMinutesAndHour) {
  Rollups rollups;
  const UnixMs hour = 3'600'000;
  rollups.add("t", "m", 4, hour);
  rollups.add("t", "m", 2, hour + 59'999);
  rollups.add("t", "m", 9, hour + 60'000);
  const std::vector<Rollup> minutes = all(rollups, 0);
  ASSERT_EQ(minutes.size(), 2u);
  EXPECT_EQ(minutes[0].count, 2u);
  EXPECT_EQ(minutes[0].sum, 6);
  EXPECT_EQ(minutes[0].min, 2);
  EXPECT_EQ(minutes[0].max, 4);
  EXPECT_EQ(minutes[0].last, 2);
  EXPECT_EQ(all(rollups, 1).at(0).count, 3u);
  EXPECT_EQ(all(rollups, 2).at(0).start, hour);
  EXPECT_TRUE(all(rollups, 0, "other").empty());
}

TEST(Rollups, KeepSoManyAndOfSoManyNames) {
  Rollups rollups;
  for (size_t i = 0; i < kKeptRollups + 9; ++i) rollups.add("t", "m", 1, static_cast<UnixMs>(i) * 60'000);
  EXPECT_EQ(all(rollups, 0).size(), kKeptRollups);
  EXPECT_EQ(all(rollups, 0).front().start, 9 * 60'000);
  for (size_t i = 0; i < kMaxRolledSeries; ++i)
    rollups.add(fmt::format("u{}", i % 7), fmt::format("m{}", i), 1, 0);
  size_t names = 0;
  rollups.each({.tenant = "", .sees_all = true}, 2, [&](const std::string&, const Rollup& each) {
    if (each.start == 0) ++names;
  });
  EXPECT_EQ(names, kMaxRolledSeries);
}

}  // namespace
}  // namespace chela::bus::observability
