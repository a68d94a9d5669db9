#include "agent/answer_reader.h"
#include "agent/turn/call_ids.h"
#include "api/openai_chat.h"
#include "api/openai_errors.h"
#include "runtime/stop_scope.h"

namespace chela::api {

using json::Value;

namespace {

// Clients tell results by the ids of their calls; some models give none.
void name_calls(const AnswerHead& head, std::vector<llm::ToolCall>& calls) {
  std::set<std::string> used;
  agent::turn::name_calls(head.id, used, calls);
}

// Reads the calls that the model writes as text for the client's tools. Nothing without tools, or where none may be called: the answer is
// then passed on as it comes.
std::optional<agent::AnswerReader> reader_for(const llm::Request& request) {
  if (request.tools.empty() || request.tool_choice == llm::ToolChoice::kNone) return std::nullopt;
  std::vector<agent::dialects::Tool> tools;
  for (const llm::ToolSpec& each : request.tools)
    tools.push_back({.name = each.name, .parameters = each.parameters});
  return std::make_optional<agent::AnswerReader>(agent::dialects::ToolSet(std::move(tools)));
}

}  // namespace

Task<Result<Value>> direct_chat(const Services& services, op::CallContext context, ChatRequest request,
                                const AnswerFormat& format, op::EventSink& sink) {
  const std::string model = request.request.model;
  llm::Provider& provider = services.provider_for(model);
  std::optional<agent::AnswerReader> reader = reader_for(request.request);
  request.request.caller = {.scope = context.scope, .channel = "v1", .key = context.principal.token_id};
  if (!request.stream) {
    Result<llm::Answer> answer = co_await provider.complete(
        std::move(request.request), [](const llm::Delta&) {}, context.deadline, context.stop);
    if (!answer) co_return fail(upstream_error(answer.error()));
    if (reader) answer = reader->finish(std::move(*answer)).answer;
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
  const auto write = [&writer](const llm::Delta& delta) {
    writer->reasoning(delta.reasoning);
    writer->text(delta.text);
  };
  const auto forward = [&writer, &call, &reader, &write](const llm::Delta& delta) {
    write(reader ? reader->feed(delta) : delta);
    if (!writer->state()) call.cancel();
  };
  Result<llm::Answer> answer =
      co_await provider.complete(std::move(request.request), forward, context.deadline, call.token());
  if (!writer->state()) co_return fail(writer->state().error());
  if (!answer) co_return fail(upstream_error(answer.error()));
  if (reader) {
    agent::AnswerReader::Result read = reader->finish(std::move(*answer));
    write(read.rest);
    answer = std::move(read.answer);
  }
  name_calls(head, answer->tool_calls);
  writer->tool_calls(answer->tool_calls);
  writer->finish({.reason = answer->finish_reason, .usage = answer->usage});
  if (!writer->state()) co_return fail(writer->state().error());
  co_return Value();
}

}  // namespace chela::api
