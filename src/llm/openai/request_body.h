#pragma once

#include <string>

#include "llm/openai/endpoint.h"
#include "llm/provider.h"

namespace chela::llm::openai {

// The body of POST /chat/completions, asking for a stream with usage.
std::string request_body(Request request, const Endpoint& endpoint);

}  // namespace chela::llm::openai
