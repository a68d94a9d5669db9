#include "llm/budget/budget_tool.h"

#include "llm/budget/budget_view.h"
#include "tools/basic_tool.h"

namespace chela::llm::budget {
namespace {

class BudgetTool final : public tools::BasicTool {
 public:
  explicit BudgetTool(Budget& budget)
      : BasicTool({.name = "budget_status",
                   .description = "Says what is left of the spending limits that count your own model calls.",
                   .parameters = tools::parameters(
                       R"({"type": "object", "additionalProperties": false, "properties": {}})"),
                   .idempotence = tools::Idempotence::kRepeatable}),
        budget_(budget) {}

  Task<Result<tools::ToolResult>> call(tools::ToolContext context, json::Value) override {
    const Result<std::vector<Standing>> all = co_await budget_.standing({.realm = context.scope.realm,
                                                                         .user = context.scope.user,
                                                                         .agent = context.scope.agent,
                                                                         .session = context.thread});
    if (!all) co_return fail(all.error());
    if (all->empty()) co_return tools::ToolResult::text("No spending limit counts your calls.");
    json::Value limits = json::Value::array();
    for (const Standing& each : *all) limits.push_back(view_of(each));
    co_return tools::ToolResult::json(json::Value::object({{"limits", std::move(limits)}}));
  }

 private:
  Budget& budget_;
};

}  // namespace

std::unique_ptr<tools::Tool> make_budget_tool(Budget& budget) { return std::make_unique<BudgetTool>(budget); }

}  // namespace chela::llm::budget
