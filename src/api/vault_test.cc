#include "api/api_test_fixture.h"
#include "runtime/pool.h"
#include "security/file_vault.h"
#include "testing/test_dir.h"

namespace chela::api {
namespace {

class VaultOperations : public ApiTest {
 protected:
  VaultOperations() { services_.vault = &vault_; }

  testing::TestDir dir_;
  runtime::Pool pool_{loop_, 1};
  security::FileVault vault_{dir_.path(), "", pool_, loop_.clock()};
};

TEST_F(VaultOperations, ValuesGoInAndNeverOut) {
  EXPECT_EQ(call("vault::list", "{}")->find("secrets")->as_array()->size(), 0u);
  const auto stored = call("vault::set", R"({"name": "github", "value": "ghp_0123456789"})");
  ASSERT_TRUE(stored);
  EXPECT_EQ(json::write(*stored), R"({"name":"github","status":"stored"})");
  const auto listed = call("vault::list", "{}");
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->find("secrets")->as_array()->at(0).string_or("name"), "github");
  EXPECT_EQ(json::write(*listed).find("ghp_"), std::string::npos);
  EXPECT_EQ(runtime::block_on(loop_, vault_.get({"default", "u", ""}, "github"))->view(), "ghp_0123456789");
  ASSERT_TRUE(call("vault::delete", R"({"name": "github"})"));
  EXPECT_EQ(call("vault::delete", R"({"name": "github"})").error().code, Code::kNotFound);
}

TEST_F(VaultOperations, WrongInputIsRefusedWithoutItsValue) {
  for (const std::string_view args :
       {R"({"name": "a/b", "value": "the-secret"})", R"({"name": "a", "value": ""})", R"({"name": "a"})",
        R"({"value": "the-secret"})"}) {
    const auto refused = call("vault::set", args);
    ASSERT_FALSE(refused) << args;
    EXPECT_EQ(refused.error().message.find("the-secret"), std::string::npos);
  }
}

TEST_F(VaultOperations, NeedTheAdministrator) {
  for (const std::string_view id : {"vault::list", "vault::set", "vault::delete"})
    EXPECT_EQ(registry_.find(id)->permission, "admin");
}

}  // namespace
}  // namespace chela::api
