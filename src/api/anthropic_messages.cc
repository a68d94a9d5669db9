#include "api/anthropic_answer.h"
#include "api/anthropic_request.h"
#include "api/openai_chat.h"
#include "api/operations.h"
#include "api/schema_text.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

Task<Result<Value>> messages(const Services& services, CallContext context, Value args, op::EventSink& sink) {
  Result<ChatRequest> request = parse_anthropic_request(args);
  if (!request) co_return fail(request.error());
  const AnthropicFormat format;
  co_return co_await answer_chat(services, std::move(context), std::move(*request), format, sink);
}

}  // namespace

// The schema is loose: what is wrong with a request is said in Anthropic's way, by parse_anthropic_request().
Result<> add_anthropic(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Route messages_route = route("POST", "/v1/messages");
  messages_route.envelope = op::Envelope::kAnthropic;
  op::Operation answering{
      .id = "anthropic::messages",
      .help =
          "Messages as Anthropic defines them, of any agent or model: the model 'chela' (or "
          "'chela/<agent>') is the agent, any other the model itself, whoever provides it.",
      .in = schema(R"({"type": "object", "properties": {
        "model": {"description": "chela, chela/<agent>, or a model"}, "max_tokens": {"description": "of the answer; required"},
        "messages": {"description": "an array of messages with role and content"}, "system": {}, "tools": {}, "tool_choice": {},
        "stream": {"description": "true: Anthropic's server-sent events"}, "temperature": {}, "top_p": {}, "top_k": {},
        "stop_sequences": {}, "thinking": {}, "metadata": {"description": "thread_id: the thread to go on with"}}})"),
      .out = schema(R"({"type": "object"})"),
      .permission = "chat:write",
      .kind = op::Kind::kEvents,
      .routes = {messages_route},
      .handler = [s](CallContext c, Value a, op::EventSink& sink) {
        return messages(*s, std::move(c), std::move(a), sink);
      }};
  return add_all(registry, {answering});
}

}  // namespace chela::api
