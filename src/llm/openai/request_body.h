#pragma once

#include <string>

#include "llm/openai/endpoint.h"
#include "llm/provider.h"

namespace chela::llm::openai {

// The conversation in the order that providers insist on: each tool message follows the assistant message that announced its id,
// and each announced call has a result. What compaction, a crash or a client left over becomes user text, what is missing a placeholder.
std::vector<Message> well_ordered(std::vector<Message> messages);

// The body of POST /chat/completions, asking for a stream with usage.
std::string request_body(Request request, const Endpoint& endpoint);

}  // namespace chela::llm::openai
