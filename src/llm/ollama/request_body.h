#pragma once

#include <string>

#include "llm/provider.h"

namespace chela::llm::ollama {

// The body of POST /api/chat, asking for a stream. The protocol knows no choice of tools: a request that wants none called lists none.
std::string request_body(Request request);

}  // namespace chela::llm::ollama
