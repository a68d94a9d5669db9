#pragma once

#include "store/conformance.h"

namespace chela::store {

class TokenConformance : public StoreConformance {
 protected:
  TokenStore& tokens() { return stores_->tokens(); }
  TokenRow row(const Scope& scope, const std::string& id, UnixMs created_at) {
    return TokenRow{.id = id,
                    .hash = "h-" + id,
                    .realm = scope.realm,
                    .user = scope.user,
                    .permissions = "[\"*\"]",
                    .label = "cli",
                    .created_at = created_at};
  }
};

TEST_P(TokenConformance, ARowComesBackAsItWasPut) {
  TokenRow token = row(ann_, "aaaa", 5);
  token.expires_at = 77;
  ASSERT_TRUE(run(tokens().put(token)));
  EXPECT_EQ(**run(tokens().get("aaaa")), token);
  EXPECT_FALSE(*run(tokens().get("aaab")));
  EXPECT_EQ(code_of(run(tokens().put(row(bob_, "aaaa", 6)))), Code::kConflict);
  EXPECT_EQ(**run(tokens().get("aaaa")), token);
}

TEST_P(TokenConformance, AListIsTheUsersOwnOldestFirst) {
  ASSERT_TRUE(run(tokens().put(row(ann_, "c", 1))));
  ASSERT_TRUE(run(tokens().put(row(ann_, "b", 2))));
  ASSERT_TRUE(run(tokens().put(row(ann_, "a", 2))));
  ASSERT_TRUE(run(tokens().put(row(bob_, "x", 1))));
  std::string order;
  for (const TokenRow& token : *run(tokens().list(ann_coder_))) order += token.id;
  EXPECT_EQ(order, "cab");
  EXPECT_TRUE(run(tokens().list(other_ann_))->empty());
}

TEST_P(TokenConformance, ARevocationHoldsAndIsTheOwnersAlone) {
  ASSERT_TRUE(run(tokens().put(row(ann_, "a", 1))));
  EXPECT_FALSE(*run(tokens().revoke(bob_, "a", 9)));
  EXPECT_FALSE(*run(tokens().revoke(other_ann_, "a", 9)));
  EXPECT_FALSE((*run(tokens().get("a")))->revoked_at);
  EXPECT_TRUE(*run(tokens().revoke(ann_, "a", 10)));
  EXPECT_TRUE(*run(tokens().revoke(ann_, "a", 20)));
  EXPECT_EQ((*run(tokens().get("a")))->revoked_at, 10);
  EXPECT_FALSE(*run(tokens().revoke(ann_, "missing", 10)));
}

}  // namespace chela::store
