#include "llm/budget/budget_tool.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "store/sqlite/database.h"
#include "testing/manual_loop.h"

namespace chela::llm::budget {
namespace {

TEST(BudgetTool, SaysWhatIsLeftForTheOneWhoAsks) {
  testing::ManualLoop loop;
  testing::CountingIds ids;
  obs::Metrics metrics;
  const auto database = *store::sqlite::Database::open_in_memory(loop);
  config::BudgetSettings settings{.warn_percent = 80, .timezone = "UTC"};
  Budget budget({.loop = loop,
                 .ids = ids,
                 .store = database->budget(),
                 .metrics = metrics,
                 .model = [](std::string_view model) { return ModelInfo{.id = std::string(model)}; }},
                settings);
  const std::unique_ptr<tools::Tool> tool = make_budget_tool(budget);
  const auto ask = [&](std::string agent) {
    return *runtime::block_on(
        loop, tool->call({.scope = {.realm = "r", .user = "u", .agent = std::move(agent)}, .thread = "t"},
                         json::Value::object()));
  };
  EXPECT_NE(std::get<tools::TextPart>(ask("a").parts.at(0)).text.find("No spending limit"),
            std::string::npos);
  settings.rules = {*config::parse_budget_rule("agent:a day 50"),
                    *config::parse_budget_rule("session:* hour 9"),
                    *config::parse_budget_rule("agent:b month 7 soft")};
  budget.configure(settings);
  const json::Value a = std::get<tools::JsonPart>(ask("a").parts.at(0)).value;
  ASSERT_EQ(a.find("limits")->as_array()->size(), 2u);
  const json::Value& day = a.find("limits")->as_array()->at(0);
  EXPECT_EQ(day.string_or("limit"), "agent:a day");
  EXPECT_EQ(day.find("left")->as_double(), 0.5);
  EXPECT_TRUE(day.bool_or("hard", false));
  EXPECT_EQ(day.string_or("resets_at"), "2026-01-02T00:00:00.000Z");
  const json::Value& hour = a.find("limits")->as_array()->at(1);
  EXPECT_EQ(hour.string_or("unit"), "calls");
  EXPECT_EQ(hour.int_or("left", 0), 9);
  const json::Value b = std::get<tools::JsonPart>(ask("b").parts.at(0)).value;
  EXPECT_EQ(b.find("limits")->as_array()->at(1).string_or("window"), "month");
  runtime::block_on(loop, budget.stop());
}

}  // namespace
}  // namespace chela::llm::budget
