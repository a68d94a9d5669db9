#include "agent/dialect_provider.h"
#include "agent/turn/call_ids.h"
#include "api/openai_chat.h"
#include "api/openai_errors.h"
#include "runtime/stop_scope.h"

namespace chela::api {

using json::Value;

namespace {

constexpr std::string_view kAutoModel = "auto";

// Clients tell results by the ids of their calls; some models give none.
void name_calls(const AnswerHead& head, std::vector<llm::ToolCall>& calls) {
  std::set<std::string> used;
  agent::turn::name_new_calls(head.id, used, calls);
}

}  // namespace

Task<Result<Value>> direct_chat(const Services& services, op::CallContext context, ChatRequest request,
                                const AnswerFormat& format, op::EventSink& sink) {
  // What a client calls so is for the engine to choose, unless there is a model of that very name.
  const std::string own_default = services.models().model;
  const bool automatic = request.request.model == kAutoModel && own_default != kAutoModel;
  if (automatic) request.request.model = own_default;
  const std::string model = request.request.model;
  const llm::ToolCalling calling = services.tool_calling(model);
  // With tools in the prompt a request looks as if it had none: routing would mistake it.
  const bool routed = automatic && (request.request.tools.empty() || calling == llm::ToolCalling::kNative);
  agent::DialectProvider provider(services.provider_for(routed ? std::string_view() : model), calling);
  request.request.caller = {.scope = context.scope, .channel = "v1", .key = context.principal.token_id};
  if (!request.stream) {
    Result<llm::Answer> answer = co_await provider.complete(
        std::move(request.request), [](const llm::Delta&) {}, context.deadline, context.stop);
    if (!answer) co_return fail(upstream_error(answer.error()));
    const AnswerHead head = new_head(services, answer->model.empty() ? model : answer->model);
    name_calls(head, answer->tool_calls);
    co_return format.whole(head, {.text = std::move(answer->text),
                                  .reasoning = std::move(answer->reasoning),
                                  .calls = std::move(answer->tool_calls),
                                  .end = {.reason = answer->finish_reason, .usage = answer->usage}});
  }
  const AnswerHead head = new_head(services, model);
  const std::unique_ptr<AnswerWriter> writer = format.writer(sink, head);
  runtime::StopScope call(*services.loop, context.stop);
  bool begun = false;  // what the client has cannot be taken back
  const auto forward = [&writer, &call, &begun](const llm::Delta& delta) {
    if (delta.reset && begun) return call.cancel();
    writer->reasoning(delta.reasoning);
    writer->text(delta.text);
    begun |= !delta.reasoning.empty() || !delta.text.empty();
    if (!writer->state()) call.cancel();
  };
  Result<llm::Answer> answer =
      co_await provider.complete(std::move(request.request), forward, context.deadline, call.token());
  if (!writer->state()) co_return fail(writer->state().error());
  if (!answer) co_return fail(upstream_error(answer.error()));
  name_calls(head, answer->tool_calls);
  writer->tool_calls(answer->tool_calls);
  writer->finish({.reason = answer->finish_reason, .usage = answer->usage});
  if (!writer->state()) co_return fail(writer->state().error());
  co_return Value();
}

}  // namespace chela::api
