#pragma once

#include <string_view>

#include "llm/routing/decision.h"

namespace chela::llm::routing {

// How much of a model the message asks for: by a person's own [tier:...], else by a pattern, else by `method`. Pure; whatever the bytes are,
// the time grows with kMaxReadBytes at most. The hint stays in what the model sees: what is asked is what the log says, and the prompt's
// prefix stays as it is.
Decision decide(std::string_view message, Method method);

}  // namespace chela::llm::routing
