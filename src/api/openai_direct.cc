#include "api/openai_chat.h"
#include "api/openai_errors.h"
#include "runtime/stop_scope.h"

namespace chela::api {

using json::Value;

namespace {

Value whole_answer(const Services& services, const std::string& model, const llm::Answer& answer) {
  const AnswerHead head = new_head(services, answer.model.empty() ? model : answer.model);
  return completion(head, answer.text, answer.reasoning, answer.tool_calls,
                    {.reason = answer.finish_reason, .usage = answer.usage});
}

}  // namespace

Task<Result<Value>> direct_chat(const Services& services, op::CallContext context, ChatRequest request,
                                op::EventSink& sink) {
  const std::string model = request.request.model;
  llm::Provider& provider = services.provider_for(model);
  if (!request.stream) {
    const Result<llm::Answer> answer = co_await provider.complete(
        std::move(request.request), [](const llm::Delta&) {}, context.deadline, context.stop);
    if (!answer) co_return fail(upstream_error(answer.error()));
    co_return whole_answer(services, model, *answer);
  }
  using Usage = ChunkWriter::Usage;
  ChunkWriter writer(sink, new_head(services, model),
                     request.include_usage ? Usage::kInclude : Usage::kLeaveOut);
  runtime::StopScope call(*services.loop, context.stop);
  const auto forward = [&writer, &call](const llm::Delta& delta) {
    writer.reasoning(delta.reasoning);
    writer.text(delta.text);
    if (!writer.state()) call.cancel();
  };
  const Result<llm::Answer> answer =
      co_await provider.complete(std::move(request.request), forward, context.deadline, call.token());
  if (!writer.state()) co_return fail(writer.state().error());
  if (!answer) co_return fail(upstream_error(answer.error()));
  writer.tool_calls(answer->tool_calls);
  writer.finish({.reason = answer->finish_reason, .usage = answer->usage});
  if (!writer.state()) co_return fail(writer.state().error());
  co_return Value();
}

}  // namespace chela::api
