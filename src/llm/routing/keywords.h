#pragma once

#include <string>

#include "llm/routing/decision.h"
#include "llm/routing/words.h"

namespace chela::llm::routing {

struct KeywordVerdict {
  Complexity complexity = Complexity::kSimple;
  std::string reason;
};

// The plain way to judge a message: by a few words and its length.
KeywordVerdict judge_by_keywords(const Words& words);

}  // namespace chela::llm::routing
