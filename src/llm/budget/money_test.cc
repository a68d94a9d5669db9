#include "llm/budget/money.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace chela::llm::budget {
namespace {

TEST(Money, TokensCostWhatTheTableSaysExactly) {
  const Rates rates = rates_of({.input = 2.5, .output = 10, .cached_input = 1.25});
  EXPECT_EQ(rates, (Rates{.input = 2'500'000'000, .cached_input = 1'250'000'000, .output = 10'000'000'000}));
  EXPECT_EQ(cost_of(Usage{.input_tokens = 1000, .output_tokens = 100, .cached_tokens = 400}, rates),
            600 * 2500 + 400 * 1250 + 100 * 10000);
  Rates dear = rates;
  dear.cache_write = 3'125'000'000;
  EXPECT_EQ(cost_of(Usage{.input_tokens = 1000, .cached_tokens = 400, .cache_write_tokens = 500}, dear),
            100 * 2500 + 400 * 1250 + 500 * 3125);
  EXPECT_EQ(cost_of(Usage{.input_tokens = 10, .cached_tokens = 8, .cache_write_tokens = 99}, dear),
            8 * 1250 + 2 * 3125)
      << "parts are no more than the whole";
  EXPECT_EQ(cost_of_tokens(1, 37'500'000), 38) << "rounded up";
  EXPECT_EQ(cost_of(Usage{.input_tokens = -5, .output_tokens = -5, .cached_tokens = 9}, rates), 0);
  EXPECT_EQ(rates_of({.input = -1, .output = 1e300}).output, 1'000'000 * kNanoPerDollar);
}

TEST(Money, SumsStopInsteadOfTurningRound) {
  EXPECT_EQ(add(kMaxNano, kMaxNano), kMaxNano);
  EXPECT_EQ(cost_of_tokens(kMaxNano, kMaxNano), kMaxNano);
  EXPECT_EQ(tokens_for(kMaxNano, 0), kMaxNano);
  EXPECT_EQ(percent_of(kMaxNano, kMaxNano), 100);
  EXPECT_EQ(percent_of(kMaxNano - 1, kMaxNano), 99) << "exact where a double is not";
  EXPECT_EQ(percent_of(kMaxNano, 1), kMaxNano);
  EXPECT_EQ(tokens_for(-5, 10), 0);
  EXPECT_EQ(tokens_for(3 * kNanoPerDollar, 2 * kNanoPerDollar), 1'500'000);
}

TEST(Money, ReadsAsPeopleWriteIt) {
  EXPECT_EQ(dollars(0), "$0.00");
  EXPECT_EQ(dollars(1'250'000'000), "$1.25");
  EXPECT_EQ(dollars(400'000), "$0.0004");
  EXPECT_EQ(dollars(-20'000'000), "-$0.02");
}

TEST(Money, APromptNeverCostsMoreThanItsMost) {
  rc::check([](std::uint16_t a, std::uint16_t b, std::uint16_t c, std::uint16_t in, std::uint16_t cheap,
               std::uint16_t dear) {
    const Rates rates{.input = in * 1'000'003LL,
                      .cached_input = cheap * 999'983LL,
                      .output = 0,
                      .cache_write = dear * 1'000'033LL};
    const std::int64_t tokens = a;
    RC_ASSERT(
        cost_of(Usage{.input_tokens = tokens, .cached_tokens = b % (tokens + 1), .cache_write_tokens = c},
                rates) <= most_for_prompt(tokens, rates));
  });
}

}  // namespace
}  // namespace chela::llm::budget
