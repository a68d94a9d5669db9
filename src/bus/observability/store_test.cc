#include "bus/observability/store.h"

#include <gtest/gtest.h>

#include "bus/observability/limits.h"

namespace chela::bus::observability {
namespace {

using json::Value;

TEST(ObservabilityStore, HasSoManyBytes) {
  Store store(1000, 100, std::chrono::hours(1));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(store.add("t", Value(std::string(18, 'x')), 0));
  EXPECT_EQ(store.size(), 5u);
  EXPECT_LE(store.bytes(), 100u);
  EXPECT_FALSE(store.add("t", Value(std::string(kMaxItemBytes, 'x')), 0));
}

}  // namespace
}  // namespace chela::bus::observability
