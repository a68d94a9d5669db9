#include "llm/wire/answer_reader.h"

#include "base/limits.h"

namespace chela::llm::wire {

void make_regular(Answer& answer) {
  std::erase_if(answer.tool_calls, [](const ToolCall& call) {
    return call.id.empty() && call.name.empty() && call.arguments.empty();
  });
  for (ToolCall& call : answer.tool_calls) {
    if (call.arguments.empty()) call.arguments = "{}";
  }
  FinishReason& reason = answer.finish_reason;
  if (!answer.tool_calls.empty() && (reason == FinishReason::kStop || reason == FinishReason::kUnknown)) {
    reason = FinishReason::kToolCalls;
  } else if (answer.tool_calls.empty() && reason == FinishReason::kToolCalls) {
    reason = FinishReason::kStop;
  }
}

Error answer_too_large(std::string_view server) {
  return Error{.code = Code::kUpstream,
               .message = fmt::format("the answer of {} has more than {} bytes or {} tool calls", server,
                                      kMaxModelAnswerBytes, kMaxAnswerCalls)}
      .with("reason", "answer_too_large")
      .with("retry", "no");
}

}  // namespace chela::llm::wire
