#pragma once

#include "store/conformance.h"

namespace chela::store {

class ResponseCacheConformance : public StoreConformance {
 protected:
  ResponseCacheStore& cache() { return stores_->response_cache(); }

  void put(const Scope& scope, const std::string& key, UnixMs at, std::int64_t max_entries = 100,
           UnixMs since = 0) {
    ASSERT_TRUE(
        run(cache().put(scope, key, "body of " + key, at, {.since = since, .max_entries = max_entries})));
  }
  bool has(const Scope& scope, const std::string& key, UnixMs since = 0) {
    const auto found = run(cache().find(scope, key, since));
    EXPECT_TRUE(found);
    return found && found->has_value();
  }
};

TEST_P(ResponseCacheConformance, WhatWasKeptComesBackToItsUserAlone) {
  put(ann_, "k", 10);
  const auto found = run(cache().find(ann_coder_, "k", 10));
  ASSERT_TRUE(found && *found) << "the agent does not matter";
  EXPECT_EQ(**found, (CachedResponse{.body = "body of k", .at = 10}));
  EXPECT_FALSE(has(bob_, "k"));
  EXPECT_FALSE(has(other_ann_, "k"));
  EXPECT_FALSE(has(ann_, "other"));
  ASSERT_TRUE(run(cache().put(ann_, "k", "newer", 20, {.max_entries = 9})));
  EXPECT_EQ((*run(cache().find(ann_, "k", 0)))->body, "newer");
}

TEST_P(ResponseCacheConformance, WhatIsTooOldIsNotFoundAndGoesWithTheNext) {
  put(ann_, "old", 10);
  put(bob_, "old", 10);
  EXPECT_TRUE(has(ann_, "old", 10));
  EXPECT_FALSE(has(ann_, "old", 11));
  put(ann_, "new", 30, 100, 11);
  EXPECT_FALSE(has(ann_, "old"));
  EXPECT_TRUE(has(bob_, "old")) << "others keep theirs";
}

TEST_P(ResponseCacheConformance, BeyondTheLimitGoesWhatWasOfNoUseForLongest) {
  put(ann_, "a", 1, 3);
  put(ann_, "b", 2, 3);
  put(ann_, "c", 3, 3);
  put(bob_, "z", 1, 3);
  ASSERT_TRUE(run(cache().touch(ann_, "a", 4)));
  ASSERT_TRUE(run(cache().touch(ann_, "nothing", 4)));
  put(ann_, "d", 5, 3);
  EXPECT_TRUE(has(ann_, "a"));
  EXPECT_FALSE(has(ann_, "b"));
  EXPECT_TRUE(has(ann_, "c"));
  EXPECT_TRUE(has(ann_, "d"));
  EXPECT_TRUE(has(bob_, "z"));
}

}  // namespace chela::store
