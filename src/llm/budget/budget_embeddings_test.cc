#include "llm/budget/budget_embeddings.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "store/sqlite/database.h"
#include "testing/manual_loop.h"

namespace chela::llm::budget {
namespace {

class Vectors final : public EmbeddingProvider {
 public:
  Task<Result<Embeddings>> embed(EmbeddingRequest request, std::optional<SteadyTime>,
                                 std::stop_token) override {
    ++calls;
    if (failure) co_return fail(*failure);
    co_return Embeddings{.vectors = std::vector<std::vector<double>>(request.texts.size(), {1}),
                         .input_tokens = tokens,
                         .model = request.model};
  }
  int calls = 0;
  std::int64_t tokens = 1'000'000;
  std::optional<Error> failure;
};

class BudgetEmbeddingsTest : public ::testing::Test {
 protected:
  ~BudgetEmbeddingsTest() override { runtime::block_on(loop, budget.stop()); }

  Result<Embeddings> embed(std::string text) {
    EmbeddingRequest request{.model = "m", .texts = {std::move(text)}};
    request.caller.scope = {.realm = "r", .user = "u"};
    return runtime::block_on(loop, counted.embed(std::move(request), std::nullopt, {}));
  }
  std::int64_t spent() {
    const auto standing = runtime::block_on(loop, budget.standing({.realm = "r", .user = "u"}));
    EXPECT_EQ(standing->at(0).reserved, 0) << "every reservation was settled or released";
    return standing->at(0).spent;
  }

  testing::ManualLoop loop;
  testing::CountingIds ids;
  obs::Metrics metrics;
  std::unique_ptr<store::sqlite::Database> database = *store::sqlite::Database::open_in_memory(loop);
  Budget budget{{.loop = loop,
                 .ids = ids,
                 .store = database->budget(),
                 .metrics = metrics,
                 .model =
                     [](std::string_view model) {
                       return ModelInfo{.id = std::string(model), .price = Price{.input = 1}};
                     }},
                {.rules = {{.limit = 1'500'000'000}}, .warn_percent = 80, .timezone = "UTC"}};
  Vectors inner;
  BudgetEmbeddings counted{inner, budget};
};

TEST_F(BudgetEmbeddingsTest, WhatIsReportedIsSpentAndALimitRefusesBeforeTheCall) {
  ASSERT_TRUE(embed("a"));
  EXPECT_EQ(spent(), 1'000'000'000);
  EXPECT_TRUE(embed("b"));
  const Result<Embeddings> refused = embed("c");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBudgetExceeded);
  EXPECT_EQ(inner.calls, 2);
}

TEST_F(BudgetEmbeddingsTest, WhatNobodyCountedIsEstimated) {
  inner.tokens = 0;
  const Result<Embeddings> made = embed(std::string(4000, 'x'));
  ASSERT_TRUE(made);
  EXPECT_GT(made->input_tokens, 0);
  EXPECT_GT(spent(), 0);
}

TEST_F(BudgetEmbeddingsTest, ARefusalOfTheProviderCostsNothing) {
  inner.failure = Error{.code = Code::kInvalidArgument, .message = "no"}.with("status", "400");
  EXPECT_FALSE(embed("a"));
  EXPECT_EQ(spent(), 0);
}

}  // namespace
}  // namespace chela::llm::budget
