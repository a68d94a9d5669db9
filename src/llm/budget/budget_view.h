#pragma once

#include "base/json.h"
#include "llm/budget/ledger.h"

namespace chela::llm::budget {

// How a limit stands, for people and models: {limit, window, unit, hard, amount, spent, reserved, left, resets_at?}. Money is a number of US
// dollars.
json::Value view_of(const Standing& standing);

// A number of US dollars, for showing.
double to_dollars(Nano amount);

}  // namespace chela::llm::budget
