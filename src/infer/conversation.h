// The messages of a request as local/small reads them.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "infer/chat_model.h"
#include "infer/chat_request.h"
#include "infer/tool_result.h"
#include "infer/user_message.h"

namespace chela::infer {

// A call of the running turn and what it gave.
struct FinishedCall {
  std::string tool;
  json::Value arguments;
  ToolResult result;
};

struct Conversation {
  std::vector<Turn> earlier;  // what was said before the last user message, without system and tools
  UserMessage last;
  std::string text;                   // last.text with plain quotes, cut to kMaxRoutedBytes
  std::vector<FinishedCall> results;  // of the last batch of calls after the last user message
  std::vector<std::string> called;    // names of all calls after the last user message

  explicit Conversation(const ChatRequest& request);
};

}  // namespace chela::infer
