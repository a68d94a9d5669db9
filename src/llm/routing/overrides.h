#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "llm/routing/decision.h"
#include "llm/routing/words.h"

namespace chela::llm::routing {

// What is decided without a score.
struct Override {
  Tier tier = Tier::kFlash;
  std::string reason;
};

// A person's own word: [tier:flash], [tier:standard], [tier:pro] or [tier:frontier], in any case, the first in the text.
std::optional<Tier> hinted_tier(std::string_view text);
// Messages whose tier is plain from what they are: greetings, the time and the weather; audits of security, steps into production.
std::optional<Override> matched_pattern(const Words& words);

}  // namespace chela::llm::routing
