#pragma once

#include "base/error.h"

// What a failed call means for the next one. The codes are those of provider.h.
namespace chela::llm {

// Whether it may be over when the same provider is asked again later: rate limits, the provider's own failures, an unreachable or silent
// server. Not what the request, the key or a limit of spending is to blame for, nor what says of itself that a repetition cannot help.
bool passes(const Error& error);

// Whether another provider may answer where this one did not: what passes, and besides it keys, accounts and models that are refused or
// missing. Not a request that is wrong or too long everywhere, a limit of spending, or a call that was cancelled.
bool another_may_answer(const Error& error);

}  // namespace chela::llm
