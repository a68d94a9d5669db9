#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/dependencies.h"
#include "agent/dialects/tool_set.h"
#include "agent/turn/request.h"
#include "base/limits.h"
#include "store/blob_store.h"
#include "tools/registry.h"

namespace chela::agent {

// The system prompts and tool lists of turns, stored as blobs that the turns' first records name. Both are the same from turn to turn, so
// their text and its hash are made once and kept: kMaxKnownPrompts of each. Owned by the engine; loop thread only.
class PromptSources {
 public:
  PromptSources(const tools::Registry& registry, store::BlobStore& blobs,
                std::size_t max_known_blobs = kMaxKnownBlobs)
      : registry_(registry), blobs_(blobs), max_known_blobs_(max_known_blobs) {}

  using Sections = std::vector<std::pair<std::string, std::string>>;  // identity documents: title and text

  // The sources of a new turn of the agent. A client's tools are offered beside the agent's, whose names win.
  // With kPrompted the system prompt says which tools there are and how they are called.
  Task<Result<turn::Sources>> of(Scope scope, AgentSpec agent, Sections identity, std::string client_system,
                                 std::vector<llm::ToolSpec> client_tools, llm::ToolCalling calling);

  // What is looked for in the text of a model that has these tools.
  dialects::ToolSet tool_set(const turn::ToolList& tools);

  // The tools of such a turn alone.
  turn::ToolListPtr tools_of(const Scope& scope, const AgentSpec& agent,
                             std::vector<llm::ToolSpec> client_tools);

  // Those that a record names, for a turn that is taken up or replayed.
  Task<Result<turn::Sources>> stored(Scope scope, std::string system_hash, std::string tools_hash);

  // Stores a body under its hash unless that was done lately.
  Task<Result<>> put(Scope scope, std::string hash, std::string content);

  // Names of the client's tools that the registry does not know: those the client runs.
  std::set<std::string> run_by_client(const Scope& scope,
                                      const std::vector<llm::ToolSpec>& client_tools) const;

 private:
  void add_instructions(turn::Sources& sources);

  const tools::Registry& registry_;
  store::BlobStore& blobs_;
  const std::size_t max_known_blobs_;
  std::unordered_map<std::string, std::string> system_hashes_;  // by the prompt's text
  std::unordered_map<std::string, turn::ToolListPtr>
      tools_;  // by agent, and by user where users have tools of their own
  std::unordered_map<std::string, std::string> instructions_;     // by the hash of the tools they tell of
  std::unordered_map<std::string, dialects::ToolSet> tool_sets_;  // as well
  std::uint64_t tools_revision_ = 0;                              // of the registry when they were listed
  std::set<std::string> stored_;                                  // what need not be written again
};

}  // namespace chela::agent
