#include "api/key_models.h"

#include "api/api_test_fixture.h"

namespace chela::api {
namespace {

op::Principal key(std::set<std::string, std::less<>> models) {
  op::Principal principal{.realm = "r", .user = "u", .permissions = {"chat:*"}};
  for (const std::string& each : models) principal.permissions.insert(std::string(kModelPermission) + each);
  return principal;
}

class KeyModels : public ApiTest {
 protected:
  bool may(const op::Principal& principal, std::string_view model) {
    return may_use_model(services_, principal, model);
  }
};

TEST_F(KeyModels, AKeyWithoutPatternsMayNameAll) {
  EXPECT_TRUE(may(key({}), "anything"));
  EXPECT_TRUE(check_agent(services_, key({}), "poet", "/model anything"));
}

TEST_F(KeyModels, NamesAndBeginnings) {
  const op::Principal some = key({"gpt-4o", "openai/*", "chela/poet"});
  EXPECT_TRUE(may(some, "gpt-4o"));
  EXPECT_FALSE(may(some, "gpt-4o-mini"));
  EXPECT_TRUE(may(some, "openai/gpt-5"));
  EXPECT_TRUE(may(some, "chela/poet"));
  EXPECT_FALSE(may(some, "chela"));
  EXPECT_FALSE(may(some, "chela/poets"));
  EXPECT_TRUE(may(key({"*"}), "anything"));
}

TEST_F(KeyModels, WhatTheEngineChoosesIsCoveredByItsWordAlone) {
  EXPECT_FALSE(may(key({"openai/*", "m-1"}), "auto"));
  EXPECT_TRUE(may(key({"auto"}), "auto"));
}

TEST_F(KeyModels, TheDefaultAgentHasTwoNames) {
  EXPECT_TRUE(may(key({"chela"}), "chela/default"));
  EXPECT_TRUE(may(key({"chela/default"}), "chela"));
  EXPECT_FALSE(may(key({"chela"}), "chela/poet"));
}

TEST_F(KeyModels, ARefusalNamesTheModelAndWhatThereIs) {
  const Result<> refused = check_model(services_, key({"cheap"}), "dear");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_NE(refused.error().message.find("'dear'"), std::string::npos);
  EXPECT_NE(refused.error().message.find("cheap"), std::string::npos);
  EXPECT_EQ(refused.error().detail("code"), "model_not_allowed");
}

TEST_F(KeyModels, WhatIsSaidToAnAgentMayChooseAModel) {
  const op::Principal some = key({"chela", "cheap"});
  EXPECT_TRUE(check_agent(services_, some, "", "hello"));
  EXPECT_FALSE(check_agent(services_, some, "poet", "hello"));
  EXPECT_TRUE(check_agent(services_, some, "", "/model"));
  EXPECT_TRUE(check_agent(services_, some, "", "/model default"));
  EXPECT_TRUE(check_agent(services_, some, "", "  /model cheap "));
  EXPECT_FALSE(check_agent(services_, some, "", "/model dear"));
  EXPECT_FALSE(check_agent(services_, some, "", "/MODEL dear"));
}

TEST_F(KeyModels, OnlyThoseAreListed) {
  op::CallContext c = context();
  c.principal = key({"m-1"});
  c.principal.permissions.insert("chat:read");
  const auto operation = registry_.find("openai::models");
  const auto answer = runtime::block_on(
      loop_, std::get<op::ValueHandler>(operation->handler)(std::move(c), json::Value::object()));
  ASSERT_TRUE(answer);
  const json::Array& data = *answer->find("data")->as_array();
  ASSERT_EQ(data.size(), 1u);
  EXPECT_EQ(data[0].string_or("id"), "m-1");
}

}  // namespace
}  // namespace chela::api
