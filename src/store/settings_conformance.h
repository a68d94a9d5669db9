#pragma once

#include "store/conformance.h"

namespace chela::store {

class SettingsConformance : public StoreConformance {
 protected:
  SettingsStore& settings() { return stores_->settings(); }
};

TEST_P(SettingsConformance, ValuesAreSetReplacedAndRemoved) {
  EXPECT_FALSE(*run(settings().get(ann_, "k")));
  ASSERT_TRUE(run(settings().set(ann_, "k", "\"one\"", 1)));
  ASSERT_TRUE(run(settings().set(ann_, "k", "\"two\"", 2)));
  EXPECT_EQ(**run(settings().get(ann_, "k")), "\"two\"");
  EXPECT_EQ(**run(settings().get(ann_coder_, "k")), "\"two\"");
  EXPECT_TRUE(*run(settings().remove(ann_, "k")));
  EXPECT_FALSE(*run(settings().remove(ann_, "k")));
  EXPECT_FALSE(*run(settings().get(ann_, "k")));
}

TEST_P(SettingsConformance, AListHoldsExactlyThePrefix) {
  for (const char* key : {"a", "a.b", "a.b.c", "a/", "ab", "b", "a.\xf4\x8f\xbf\xbf", "%", "a_"}) {
    ASSERT_TRUE(run(settings().set(ann_, key, key, 1)));
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : *run(settings().list(ann_, "a."))) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"a.b", "a.b.c", "a.\xf4\x8f\xbf\xbf"}));
  EXPECT_EQ(run(settings().list(ann_, ""))->size(), 9U);
  EXPECT_EQ(run(settings().list(ann_, "%"))->size(), 1U);
}

TEST_P(SettingsConformance, OtherUsersSeeAndChangeNothing) {
  ASSERT_TRUE(run(settings().set(ann_, "k", "1", 1)));
  for (const Scope& stranger : {bob_, other_ann_}) {
    EXPECT_FALSE(*run(settings().get(stranger, "k")));
    EXPECT_TRUE(run(settings().list(stranger, ""))->empty());
    EXPECT_FALSE(*run(settings().remove(stranger, "k")));
    ASSERT_TRUE(run(settings().set(stranger, "k", "2", 1)));
  }
  EXPECT_EQ(**run(settings().get(ann_, "k")), "1");
}

}  // namespace chela::store
