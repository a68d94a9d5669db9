#pragma once

#include <string>
#include <utility>
#include <vector>

#include "llm/openai/endpoint.h"
#include "llm/provider.h"

namespace chela::llm::openai {

// Where a server departs from the protocol: see Quirks.
struct ChatManners {
  std::vector<std::pair<std::string, std::string>> renamed_params = {};
  bool stream_options = true;
  bool wants_reasoning = false;
};

// The body of POST /chat/completions, asking for a stream with usage.
std::string request_body(Request request, const Endpoint& endpoint, const ChatManners& manners = {});

}  // namespace chela::llm::openai
