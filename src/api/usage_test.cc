#include "api/api_test_fixture.h"
#include "llm/budget/budget_provider.h"
#include "store/sqlite/database.h"

namespace chela::api {
namespace {

class Usage : public ApiTest {
 protected:
  Usage() { services_.budget = &budget_; }
  ~Usage() override { runtime::block_on(loop_, budget_.stop()); }

  static llm::ModelInfo info(std::string_view model) {
    llm::ModelInfo known{.id = std::string(model)};
    if (model == "m-1") known.price = llm::Price{.input = 1000, .output = 1000, .cached_input = 1000};
    return known;
  }
  void spend(std::string agent, std::string model, std::string user = "u") {
    provider_.answer = llm::Answer{.text = "x", .usage = {.input_tokens = 10, .output_tokens = 20}};
    llm::Request request{.model = std::move(model), .messages = {{.content = "hi"}}};
    request.caller.scope = {.realm = "default", .user = std::move(user), .agent = std::move(agent)};
    ASSERT_TRUE(runtime::block_on(
        loop_, counted_.complete(std::move(request), [](const llm::Delta&) {}, std::nullopt, {})));
    loop_.advance(std::chrono::milliseconds(100));
  }
  json::Value groups(std::string_view args) { return *call("usage::days", args)->find("groups"); }

  std::unique_ptr<store::sqlite::Database> database_ = *store::sqlite::Database::open_in_memory(loop_);
  obs::Metrics metrics_;
  llm::budget::Budget budget_{
      {.loop = loop_, .ids = ids_, .store = database_->budget(), .metrics = metrics_, .model = &Usage::info},
      {.rules = {*config::parse_budget_rule("user:* day 50"), *config::parse_budget_rule("agent:b hour 9")},
       .warn_percent = 80,
       .timezone = "Asia/Tokyo"}};
  llm::budget::BudgetProvider counted_{provider_, budget_};
};

TEST_F(Usage, IsByDayModelOrAgentAndTheCallersOwn) {
  spend("a", "m-1");
  spend("b", "m-1");
  spend("b", "mystery");
  spend("a", "m-1", "somebody else");
  // The clock of the tests stands at midnight in UTC: nine in the morning in Tokyo.
  loop_.advance(std::chrono::hours(15));
  spend("b", "m-1");
  const json::Value days = groups("{}");
  ASSERT_EQ(days.as_array()->size(), 2u);
  EXPECT_EQ(days.as_array()->at(0).string_or("name"), "2026-01-01");
  EXPECT_EQ(days.as_array()->at(0).int_or("calls", 0), 3);
  EXPECT_EQ(days.as_array()->at(0).int_or("unpriced_calls", 0), 1);
  EXPECT_DOUBLE_EQ(days.as_array()->at(0).find("cost")->as_double().value(), 0.06);
  EXPECT_EQ(days.as_array()->at(1).string_or("name"), "2026-01-02");
  EXPECT_EQ(groups(R"({"days": 1})").as_array()->size(), 1u);
  const json::Value models = groups(R"({"by": "model"})");
  EXPECT_EQ(models.as_array()->at(0).string_or("name"), "m-1") << "the dearest first";
  EXPECT_EQ(models.as_array()->at(1).find("cost"), nullptr);
  EXPECT_EQ(models.as_array()->at(1).int_or("completion_tokens", 0), 20);
  EXPECT_EQ(groups(R"({"by": "agent"})").as_array()->at(0).string_or("name"), "b");
  EXPECT_EQ(call("usage::days", R"({"by": "moon"})").error().code, Code::kUnprocessable);
}

TEST_F(Usage, LimitsAreThoseOfTheCallerAndOfWhomTheyName) {
  spend("a", "m-1");
  const json::Value own = *call("usage::days", "{}");
  EXPECT_EQ(own.string_or("timezone"), "Asia/Tokyo");
  ASSERT_EQ(own.find("limits")->as_array()->size(), 1u);
  EXPECT_DOUBLE_EQ(own.find("limits")->as_array()->at(0).find("spent")->as_double().value(), 0.03);
  const json::Value named = *call("usage::days", R"({"agent": "b"})");
  EXPECT_EQ(named.find("limits")->as_array()->at(1).int_or("left", 0), 9);
}

}  // namespace
}  // namespace chela::api
