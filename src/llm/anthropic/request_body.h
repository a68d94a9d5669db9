#pragma once

#include <string>

#include "llm/provider.h"

namespace chela::llm::anthropic {

// The body of POST /v1/messages, asking for a stream.
// The system prompt, the message before the last one and the last are marked for the prompt cache: what is marked once is read from the
// cache by the next request of the conversation, tools included, since they come first.
std::string request_body(Request request);

}  // namespace chela::llm::anthropic
