#pragma once

#include "llm/routing/decision.h"
#include "llm/routing/words.h"

namespace chela::llm::routing {

// How much a message asks for, by the table of dimensions. Pure; time grows with kMaxReadBytes at most.
Score score(const Words& words);
Tier tier_of(int score);

}  // namespace chela::llm::routing
