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

TEST_P(SettingsConformance, RowsSayWhenTheyChanged) {
  ASSERT_TRUE(run(settings().set(ann_, "a.2", "2", 20)));
  ASSERT_TRUE(run(settings().set(ann_, "a.1", "1", 10)));
  ASSERT_TRUE(run(settings().set(ann_, "b", "3", 30)));
  const auto rows = *run(settings().rows(ann_, "a."));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].key, "a.1");
  EXPECT_EQ(rows[0].updated_at, 10);
  EXPECT_EQ(rows[1].value, "2");
}

TEST_P(SettingsConformance, ChangesComeTogetherForSeveralUsers) {
  ASSERT_TRUE(run(settings().set(ann_, "old", "1", 1)));
  ASSERT_TRUE(run(settings().apply(
      {{ann_, "old", std::nullopt}, {ann_, "k", "1"}, {ann_, "k", "2"}, {bob_, "k", "3"}}, 5)));
  EXPECT_FALSE(*run(settings().get(ann_, "old")));
  EXPECT_EQ(**run(settings().get(ann_, "k")), "2");
  EXPECT_EQ(**run(settings().get(bob_, "k")), "3");
  EXPECT_EQ(run(settings().rows(bob_, "k"))->front().updated_at, 5);
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
