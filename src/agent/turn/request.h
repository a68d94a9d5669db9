#pragma once

#include <string>
#include <vector>

#include "agent/turn/state.h"
#include "llm/provider.h"

namespace chela::agent::turn {

// The bodies that a turn's record names by hash.
struct Sources {
  std::string system;                // the system prompt
  std::vector<llm::ToolSpec> tools;  // what the model may call
};

// The request of the model call that `state` asks for. Pure: a replay builds the same bytes.
llm::Request build_request(const State& state, const Sources& sources);

// Hash of the canonical JSON of a request.
std::string request_hash(const llm::Request& request);

std::string tools_to_text(const std::vector<llm::ToolSpec>& tools);
Result<std::vector<llm::ToolSpec>> tools_from_text(std::string_view text);

}  // namespace chela::agent::turn
