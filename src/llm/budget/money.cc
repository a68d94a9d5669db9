#include "llm/budget/money.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace chela::llm::budget {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr double kMaxDollarsPerMillion = 1e6;
__extension__ using Wide = __int128;

Nano nano(double dollars) {
  if (!(dollars > 0)) return 0;
  return std::llround(std::min(dollars, kMaxDollarsPerMillion) * static_cast<double>(kNanoPerDollar));
}

}  // namespace

Rates rates_of(const Price& price) {
  return {.input = nano(price.input),
          .cached_input = nano(price.cached_input),
          .output = nano(price.output),
          .cache_write = nano(price.cache_write)};
}

Nano cost_of_tokens(std::int64_t tokens, Nano rate) {
  if (tokens <= 0 || rate <= 0) return 0;
  const Wide cost = (static_cast<Wide>(tokens) * rate + kMillion - 1) / kMillion;
  return cost > kMaxNano ? kMaxNano : static_cast<Nano>(cost);
}

Nano cost_of(const Usage& usage, const Rates& rates) {
  const std::int64_t input = std::max<std::int64_t>(usage.input_tokens, 0);
  const std::int64_t cached = std::clamp<std::int64_t>(usage.cached_tokens, 0, input);
  const std::int64_t written = std::clamp<std::int64_t>(usage.cache_write_tokens, 0, input - cached);
  const Nano prompt = add(
      add(cost_of_tokens(input - cached - written, rates.input), cost_of_tokens(cached, rates.cached_input)),
      cost_of_tokens(written, rates.cache_write));
  return add(prompt, cost_of_tokens(usage.output_tokens, rates.output));
}

Nano most_for_prompt(std::int64_t tokens, const Rates& rates) {
  // Three parts that are rounded up on their own cost at most two nano-dollars more than their sum.
  const Nano most = cost_of_tokens(tokens, std::max({rates.input, rates.cached_input, rates.cache_write}));
  return most == 0 ? 0 : add(most, 2);
}

std::int64_t tokens_for(Nano amount, Nano rate) {
  if (amount <= 0) return 0;
  if (rate <= 0) return kMaxNano;
  const Wide tokens = static_cast<Wide>(amount) * kMillion / rate;
  return tokens > kMaxNano ? kMaxNano : static_cast<std::int64_t>(tokens);
}

std::int64_t percent_of(std::int64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(std::min<Wide>(static_cast<Wide>(part) * 100 / whole, kMaxNano));
}

Nano add(Nano a, Nano b) { return a > kMaxNano - b ? kMaxNano : a + b; }

std::string dollars(Nano amount) {
  const std::string sign = amount < 0 ? "-" : "";
  const Nano size = amount < 0 ? -amount : amount;
  std::string text = fmt::format("{}.{:09}", size / kNanoPerDollar, size % kNanoPerDollar);
  const size_t two = text.find('.') + 3;
  while (text.size() > two && text.back() == '0') text.pop_back();
  return sign + "$" + text;
}

}  // namespace chela::llm::budget
