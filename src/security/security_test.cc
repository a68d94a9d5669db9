#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/file.h"
#include "runtime/task_group.h"
#include "security/authenticator.h"
#include "store/sqlite/database.h"
#include "testing/manual_loop.h"
#include "testing/test_dir.h"

namespace chela::security {
namespace {

class TokensTest : public ::testing::Test {
 protected:
  template <class T>
  T run(Task<T> task) {
    return runtime::block_on(loop_, std::move(task));
  }
  testing::ManualLoop loop_;
  std::unique_ptr<store::sqlite::Database> database_ =
      std::move(*store::sqlite::Database::open_in_memory(loop_));
  TokenService tokens_{database_->tokens(), loop_.clock()};
  const op::Principal reader_{.realm = "default", .user = "u1", .permissions = {"memory:read"}};
};

TEST_F(TokensTest, ATokenGivesItsPrincipal) {
  const auto text = run(tokens_.create(reader_, "laptop"));
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("chela_"));
  const auto principal = run(tokens_.verify(*text));
  ASSERT_TRUE(principal);
  EXPECT_EQ(principal->user, "u1");
  EXPECT_TRUE(principal->allows("memory:read"));
  EXPECT_FALSE(principal->allows("memory:write"));
}

TEST_F(TokensTest, ChangedTextsAreRefusedWithoutAReason) {
  const std::string text = *run(tokens_.create(reader_, "x"));
  const std::string other = *run(tokens_.create(reader_, "y"));
  std::string mixed = text.substr(0, 23) + other.substr(23);  // one token's id, the other's secret
  for (const std::string& bad :
       {std::string(), std::string("chela_"), text + "x", text.substr(0, text.size() - 1), mixed,
        std::string("chela_0000000000000000_"), "xhela" + text.substr(5), std::string(10'000, 'a')}) {
    const auto refused = run(tokens_.verify(bad));
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::kUnauthenticated);
    EXPECT_EQ(refused.error().message, run(tokens_.verify("nonsense")).error().message);
  }
}

TEST_F(TokensTest, WhatGoesOnWithATokenEndsWhenItIsRevoked) {
  const auto verified = [this](std::string label) {
    return *run(tokens_.verify(*run(tokens_.create(reader_, std::move(label)))));
  };
  const op::Principal first = verified("x");
  const auto lease = *run(tokens_.watch(loop_, first));
  const auto second = *run(tokens_.watch(loop_, first));
  const auto other = *run(tokens_.watch(loop_, verified("y")));
  const auto owner = *run(tokens_.watch(loop_, owner_principal("u1")));
  auto brief = *run(tokens_.watch(loop_, first));
  const std::stop_callback on_end(brief->ended(), [&brief] { brief.reset(); });  // as a connection does
  ASSERT_TRUE(run(tokens_.revoke({"default", "u1", ""}, first.token_id)));
  EXPECT_TRUE(lease->ended().stop_requested());
  EXPECT_TRUE(second->ended().stop_requested());
  EXPECT_EQ(brief, nullptr);
  EXPECT_FALSE(other->ended().stop_requested());
  EXPECT_FALSE(owner->ended().stop_requested());
  EXPECT_EQ(run(tokens_.watch(loop_, first)).error().code, Code::kUnauthenticated);
}

TEST_F(TokensTest, WhatGoesOnWithATokenEndsWhenItExpires) {
  op::Principal principal = reader_;
  principal.expires = loop_.clock().now() + 100'000;
  TokenLeases leases;
  {
    principal.token_id = "t";
    const TokenLease lease(loop_, leases, principal);
    EXPECT_EQ(leases.size(), 1u);
    loop_.advance(std::chrono::milliseconds(99'999));
    EXPECT_FALSE(lease.ended().stop_requested());
    loop_.advance(std::chrono::milliseconds(1));
    EXPECT_TRUE(lease.ended().stop_requested());
    EXPECT_TRUE(TokenLease(loop_, leases, principal).ended().stop_requested());
  }
  EXPECT_EQ(leases.size(), 0u);
}

TEST_F(TokensTest, ARevokedOrExpiredTokenIsDeadAtOnce) {
  const std::string text = *run(tokens_.create(reader_, "x"));
  const std::string id = run(tokens_.verify(text))->token_id;
  EXPECT_EQ(run(tokens_.revoke({"default", "other", ""}, id)).error().code, Code::kNotFound);
  ASSERT_TRUE(run(tokens_.revoke({"default", "u1", ""}, id)));
  EXPECT_FALSE(run(tokens_.verify(text)));
  op::Principal brief = reader_;
  brief.expires = loop_.clock().now() + 1000;
  const std::string expiring = *run(tokens_.create(brief, "brief"));
  EXPECT_TRUE(run(tokens_.verify(expiring)));
  loop_.advance(1000ms);
  EXPECT_FALSE(run(tokens_.verify(expiring)));
  EXPECT_EQ(run(tokens_.list({"default", "u1", ""}))->size(), 2u);
  EXPECT_TRUE(run(tokens_.list({"default", "u2", ""}))->empty());
}

TEST_F(TokensTest, ATokenWithoutPermissionsOrWithAPastEndIsNotMade) {
  EXPECT_FALSE(run(tokens_.create({.realm = "default", .user = "u1"}, "")));
  op::Principal past = reader_;
  past.expires = loop_.clock().now();
  EXPECT_FALSE(run(tokens_.create(past, "")));
}

TEST_F(TokensTest, TheGatewayTokenIsTheOwner) {
  FailedLogins failed(loop_.clock(), {});
  Authenticator authenticator(tokens_, failed, "any text", "default");
  EXPECT_TRUE(run(authenticator.authenticate("any text"))->allows("admin"));
  EXPECT_EQ(run(authenticator.authenticate("")).error().code, Code::kUnauthenticated);
  EXPECT_EQ(run(authenticator.authenticate("any tex")).error().code, Code::kUnauthenticated);
  const std::string text = *run(tokens_.create(reader_, "x"));
  EXPECT_EQ(run(authenticator.authenticate(text))->user, "u1");
}

TEST(GatewayToken, IsMadeOnceAndKept) {
  char name[] = "/tmp/chela-security-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const auto first = ensure_gateway_token(name, "");
  ASSERT_TRUE(first);
  EXPECT_GE(first->size(), 40u);
  EXPECT_EQ(*ensure_gateway_token(name, ""), *first);
  EXPECT_EQ(*ensure_gateway_token(name, "configured"), "configured");
  EXPECT_EQ(std::filesystem::status(std::string(name) + "/gateway.token").permissions(),
            std::filesystem::perms(0600));
  std::filesystem::remove_all(name);
}

TEST(GatewayToken, ClosesAFileThatOthersMayRead) {
  const testing::TestDir dir;
  const std::string path = dir.path() + "/gateway.token";
  std::ofstream(path) << "from-a-backup\n";
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  EXPECT_EQ(*ensure_gateway_token(dir.path(), ""), "from-a-backup");
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
}

}  // namespace
}  // namespace chela::security
