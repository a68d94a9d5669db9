#include "infer/conversation.h"

#include "base/utf8.h"
#include "infer/limits.h"
#include "infer/words.h"

namespace chela::infer {

Conversation::Conversation(const ChatRequest& request) {
  const auto& messages = request.messages;
  std::size_t last_user = messages.size();
  for (std::size_t i = messages.size(); i-- > 0;) {
    if (messages[i].role == Role::kUser) {
      last_user = i;
      break;
    }
  }
  for (std::size_t i = 0; i < last_user && last_user < messages.size(); ++i) {
    const auto& message = messages[i];
    if (message.role == Role::kUser) {
      if (auto said = parse_user_message(message.content).text; !said.empty())
        earlier.push_back({Role::kUser, std::move(said)});
    } else if (message.role == Role::kAssistant && message.tool_calls.empty() && !message.content.empty()) {
      earlier.push_back({Role::kAssistant, message.content});
    }
  }
  if (last_user < messages.size()) last = parse_user_message(messages[last_user].content);
  text = plain_quotes(utf8::prefix(last.text, kMaxRoutedBytes));
  const auto first_after = last_user < messages.size() ? last_user + 1 : 0;
  for (std::size_t i = first_after; i < messages.size(); ++i) {
    const auto& message = messages[i];
    if (message.role == Role::kAssistant) {
      results.clear();
      for (const auto& made : message.tool_calls) {
        auto arguments = json::parse(made.arguments);
        results.push_back({made.name, arguments ? *std::move(arguments) : json::Value(), {}});
        called.push_back(made.name);
      }
    } else if (message.role == Role::kTool) {
      // Results stand in the order of their calls; the id is what ties them together.
      const auto& owner = messages[i];
      for (std::size_t k = i; k-- > first_after;) {
        if (messages[k].role != Role::kAssistant) continue;
        for (std::size_t call = 0; call < messages[k].tool_calls.size() && call < results.size(); ++call) {
          if (messages[k].tool_calls[call].id == owner.tool_call_id)
            results[call].result = read_tool_result(owner.content);
        }
        break;
      }
    }
  }
}

}  // namespace chela::infer
