#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "llm/models.h"

namespace chela::llm::budget {

using Nano = std::int64_t;  // nano-dollars
inline constexpr Nano kNanoPerDollar = 1'000'000'000;
inline constexpr Nano kMaxNano = 1'000'000'000'000'000'000;  // sums stop there

// Nano-dollars for a million tokens.
struct Rates {
  Nano input = 0;
  Nano cached_input = 0;
  Nano output = 0;
  Nano cache_write = 0;

  bool operator==(const Rates&) const = default;
};
Rates rates_of(const Price& price);

// Rounded up; amounts below zero are zero.
Nano cost_of_tokens(std::int64_t tokens, Nano rate);
Nano cost_of(const Usage& usage, const Rates& rates);
// Of a prompt, whatever of it a cache serves or takes.
Nano most_for_prompt(std::int64_t tokens, const Rates& rates);
// How many tokens the amount pays for.
std::int64_t tokens_for(Nano amount, Nano rate);

// Which part of `whole` (above zero) it is, in whole percent.
std::int64_t percent_of(std::int64_t part, std::int64_t whole);

Nano add(Nano a, Nano b);  // both not below zero; stops at kMaxNano

// "$1.25", "$0.0004": as many digits as say something.
std::string dollars(Nano amount);

}  // namespace chela::llm::budget
