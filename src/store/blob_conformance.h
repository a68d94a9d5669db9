#pragma once

#include "base/limits.h"
#include "store/conformance.h"

namespace chela::store {

class BlobConformance : public StoreConformance {
 protected:
  BlobStore& blobs() { return stores_->blobs(); }
};

TEST_P(BlobConformance, ContentComesBackToTheByteAtOnceAndLater) {
  std::string content;
  for (int i = 0; i < 100'000; ++i) content += static_cast<char>(i * 7);
  ASSERT_TRUE(run(blobs().put(ann_, "h1", content)));
  EXPECT_EQ(run(blobs().get(ann_, "h1")).value(), content);
  // A barrier behind it: now it comes from the database.
  ASSERT_TRUE(run(stores_->settings().set(ann_, "k", "1", 1)));
  EXPECT_EQ(run(blobs().get(ann_, "h1")).value(), content);
  ASSERT_TRUE(run(blobs().put(ann_, "h1", content)));
  ASSERT_TRUE(run(blobs().put(ann_, "empty", "")));
  ASSERT_TRUE(run(stores_->settings().set(ann_, "k", "2", 1)));
  EXPECT_EQ(run(blobs().get(ann_, "empty")).value(), "");
}

TEST_P(BlobConformance, OtherUsersDoNotLearnOfABlob) {
  ASSERT_TRUE(run(blobs().put(ann_, "h1", "mine")));
  EXPECT_EQ(code_of(run(blobs().get(bob_, "h1"))), Code::kNotFound);
  ASSERT_TRUE(run(stores_->settings().set(ann_, "k", "1", 1)));
  EXPECT_EQ(code_of(run(blobs().get(bob_, "h1"))), Code::kNotFound);
  EXPECT_EQ(code_of(run(blobs().get(other_ann_, "h1"))), Code::kNotFound);
  EXPECT_EQ(run(blobs().get(ann_coder_, "h1")).value(), "mine");  // agents of one user share
  ASSERT_TRUE(run(blobs().put(bob_, "h1", "mine")));
  EXPECT_EQ(run(blobs().get(bob_, "h1")).value(), "mine");
}

TEST_P(BlobConformance, ABlobThatIsTooLargeIsRefused) {
  EXPECT_EQ(code_of(run(blobs().put(ann_, "big", std::string(kMaxBlobBytes + 1, 'x')))), Code::kTooLarge);
  EXPECT_EQ(code_of(run(blobs().get(ann_, "big"))), Code::kNotFound);
}

}  // namespace chela::store
