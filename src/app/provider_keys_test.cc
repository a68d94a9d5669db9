#include "app/provider_keys.h"

#include <gtest/gtest.h>

#include "runtime/asio_loop.h"
#include "runtime/pool.h"
#include "runtime/task_group.h"
#include "security/file_vault.h"
#include "testing/test_dir.h"

namespace chela::app {
namespace {

TEST(EngineKeys, AVariableOfTheConfigurationHasItsValueAndAnyOtherTheEnvironments) {
  runtime::AsioLoop loop;
  runtime::Pool pool(loop, 1);
  const testing::TestDir dir;
  security::FileVault vault(dir.path(), "", pool, loop.clock());
  const Result<config::Config> config =
      config::Config::load({.environment = {{"CHELA_OPENAI_API_KEY", "from-configuration"}}});
  ASSERT_TRUE(config);
  EngineKeys keys(&*config, {{"OPENAI_API_KEY", "hidden"}, {"GROQ_API_KEY", "plain"}}, vault, {});
  EXPECT_EQ(keys.variable("OPENAI_API_KEY"), "from-configuration");
  EXPECT_EQ(keys.variable("OPENAI_BASE_URL"), "") << "a default is nothing that a person said";
  EXPECT_EQ(keys.variable("GROQ_API_KEY"), "plain");
  EXPECT_EQ(keys.variable("UNSET"), "");
}

TEST(EngineKeys, ASecretCountsWhenItHasComeIntoTheVault) {
  runtime::AsioLoop loop;
  runtime::Pool pool(loop, 1);
  const testing::TestDir dir;
  const Scope owner{.realm = "default", .user = "ada"};
  security::FileVault vault(dir.path(), std::string(kMinMasterKeyBytes, 'k'), pool, loop.clock());
  EngineKeys keys(nullptr, {}, vault, owner);
  vault.on_change([&keys] { return keys.read_names(); });
  runtime::block_on(loop, keys.read_names());
  const std::uint64_t before = keys.changes();
  EXPECT_FALSE(keys.in_vault("groq_api_key"));
  ASSERT_TRUE(runtime::block_on(loop, vault.set(owner, "groq_api_key", crypto::Secret("sealed-for-test"))));
  EXPECT_TRUE(keys.in_vault("groq_api_key"));
  EXPECT_GT(keys.changes(), before);
  EXPECT_EQ(*runtime::block_on(loop, keys.from_vault("groq_api_key")), "sealed-for-test");
  ASSERT_TRUE(runtime::block_on(loop, vault.remove(owner, "groq_api_key")));
  EXPECT_FALSE(keys.in_vault("groq_api_key"));
  EXPECT_FALSE(runtime::block_on(loop, keys.from_vault("groq_api_key")));
}

}  // namespace
}  // namespace chela::app
