#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/turn/state.h"
#include "llm/provider.h"

namespace chela::agent::turn {

// What the model may call, with the text it is stored as and that text's hash. Made once and shared by all turns that offer the same.
struct ToolList {
  std::vector<llm::ToolSpec> specs;
  std::string text;
  std::string hash;
};
using ToolListPtr = std::shared_ptr<const ToolList>;  // never null

std::string tools_to_text(const std::vector<llm::ToolSpec>& tools);
Result<std::vector<llm::ToolSpec>> tools_from_text(std::string_view text);

ToolListPtr make_tool_list(std::vector<llm::ToolSpec> specs);
Result<ToolListPtr> tool_list_from_text(std::string text);
const ToolListPtr& no_tools();

// The bodies that a turn's record names by hash.
struct Sources {
  std::string system;  // the system prompt
  std::string system_hash;
  ToolListPtr tools = no_tools();
};

// About how many tokens the sources take in every request of the turn.
std::int64_t prompt_tokens(const Sources& sources, llm::ToolCalling calling);

// The request of the model call that `state` asks for. Pure: a replay builds the same bytes.
llm::Request build_request(const State& state, const Sources& sources);

// Hash of the canonical JSON of a request, in which the tools stand as the hash of their text.
std::string request_hash(const llm::Request& request, std::string_view tools_hash);

}  // namespace chela::agent::turn
