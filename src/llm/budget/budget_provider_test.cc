#include "llm/budget/budget_provider.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "store/sqlite/database.h"
#include "testing/manual_loop.h"

namespace chela::llm::budget {
namespace {

class Listing final : public Provider {
 public:
  Task<Result<Answer>> complete(Request, DeltaSink sink, std::optional<SteadyTime>,
                                std::stop_token) override {
    sink({.text = "a"});
    co_return Answer{.text = "a"};
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"m"};
  }
};

TEST(BudgetProvider, PassesOnWhatIsNotItsOwn) {
  testing::ManualLoop loop;
  testing::CountingIds ids;
  obs::Metrics metrics;
  const auto database = *store::sqlite::Database::open_in_memory(loop);
  Budget budget({.loop = loop,
                 .ids = ids,
                 .store = database->budget(),
                 .metrics = metrics,
                 .model = [](std::string_view model) { return ModelInfo{.id = std::string(model)}; }},
                {.warn_percent = 80, .timezone = "UTC"});
  Listing inner;
  BudgetProvider provider(inner, budget);
  EXPECT_EQ(runtime::block_on(loop, provider.models({}))->at(0), "m");
  std::string text;
  const auto answer = runtime::block_on(
      loop, provider.complete({.model = "m"}, [&text](const Delta& d) { text += d.text; }, std::nullopt, {}));
  EXPECT_EQ(answer->text, text);
  runtime::block_on(loop, budget.stop());
}

}  // namespace
}  // namespace chela::llm::budget
