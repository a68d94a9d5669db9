#include "agent/turn/transcript.h"

#include "base/json.h"
#include "crypto/hash.h"

namespace chela::agent::turn {

std::string extend_transcript(const std::string& hash, const llm::Message& message) {
  if (message.role == llm::Role::kSystem) return hash;
  json::Array calls;
  for (const llm::ToolCall& call : message.tool_calls)
    calls.push_back(json::Value::array({call.id, call.name}));
  const json::Value value = json::Value::array(
      {hash, llm::role_name(message.role), message.content, std::move(calls), message.tool_call_id});
  return crypto::content_hash(json::write(value));
}

std::string transcript_of(const std::vector<llm::Message>& messages) {
  std::string hash;
  for (const llm::Message& message : messages) hash = extend_transcript(hash, message);
  return hash;
}

}  // namespace chela::agent::turn
