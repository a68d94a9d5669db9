#include "llm/backends/provider_setup.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "testing/fake_keys.h"
#include "testing/manual_loop.h"

namespace chela::llm {
namespace {

class SetupTest : public ::testing::Test {
 protected:
  Result<ProviderSetup> set_up(ProviderWishes wishes = {}) {
    return runtime::block_on(loop, llm::set_up(entry, std::move(wishes), keys));
  }

  testing::ManualLoop loop;
  testing::FakeKeys keys;
  ProviderEntry entry{.id = "a",
                      .name = "Acme",
                      .base_url = "https://{ACME_PLACE}.test/v1",
                      .base_url_env = {"ACME_URL"},
                      .key_env = {"ACME_KEY", "ACME_TOKEN"},
                      .default_model = "m-{ACME_PLACE}",
                      .model_env = {"ACME_MODEL"}};
};

TEST_F(SetupTest, TheKeyComesFromAVariableElseFromTheVault) {
  keys.variables = {{"ACME_PLACE", "here"}};
  EXPECT_FALSE(has_key(entry, keys));
  const Result<ProviderSetup> none = set_up();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kUnavailable);
  EXPECT_EQ(none.error().detail("reason"), "key_missing");
  EXPECT_EQ(none.error().detail("retry"), "no");
  keys.set_secret("acme_token", "from-vault");
  EXPECT_TRUE(has_key(entry, keys));
  EXPECT_EQ(set_up()->api_key, "from-vault");
  keys.variables["ACME_KEY"] = "from-environment";
  EXPECT_EQ(set_up()->api_key, "from-environment");
  EXPECT_EQ(set_up()->variable("ACME_PLACE"), "here");
  EXPECT_EQ(set_up({.api_key = "from-settings"})->api_key, "from-settings");
}

TEST_F(SetupTest, TheAddressMayNameVariablesAndBeNamedByOne) {
  keys.variables = {{"ACME_KEY", "k"}};
  const Result<ProviderSetup> unset = set_up();
  ASSERT_FALSE(unset);
  EXPECT_EQ(unset.error().code, Code::kUnavailable);
  EXPECT_NE(unset.error().message.find("ACME_PLACE is not set"), std::string::npos);
  keys.variables["ACME_PLACE"] = "here";
  EXPECT_EQ(set_up()->base_url, "https://here.test/v1");
  EXPECT_EQ(set_up()->address_key, "providers.a.base_url");
  keys.variables["ACME_URL"] = "http://there";
  EXPECT_EQ(set_up()->base_url, "http://there");
  EXPECT_EQ(set_up()->address_key, "ACME_URL");
  EXPECT_EQ(set_up({.base_url = "http://wished", .address_key = "llm.base_url"})->base_url, "http://wished");
}

TEST_F(SetupTest, TheModelToo) {
  EXPECT_EQ(default_model_of(entry, keys), "");
  keys.variables["ACME_PLACE"] = "here";
  EXPECT_EQ(default_model_of(entry, keys), "m-here");
  keys.variables["ACME_MODEL"] = "mine";
  EXPECT_EQ(default_model_of(entry, keys), "mine");
}

TEST_F(SetupTest, AnOptionalKeyMayBeMissing) {
  entry.key = KeyNeed::kOptional;
  keys.variables = {{"ACME_PLACE", "here"}};
  EXPECT_TRUE(is_usable(entry, keys));
  EXPECT_EQ(set_up()->api_key, "");
}

TEST_F(SetupTest, WhatIsNoPlaceholderStays) {
  EXPECT_EQ(*filled("a{b", keys), "a{b");
  EXPECT_EQ(*filled("", keys), "");
  EXPECT_FALSE(filled("{}", keys));
}

}  // namespace
}  // namespace chela::llm
