#include "api/openai_chat.h"
#include "api/operations.h"
#include "api/responses_answer.h"
#include "api/responses_request.h"
#include "api/schema_text.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

Task<Result<Value>> respond(const Services& services, CallContext context, Value args, op::EventSink& sink) {
  Result<ResponsesRequest> request = parse_responses_request(args);
  if (!request) co_return fail(request.error());
  const ResponsesFormat format(std::move(request->echoed));
  co_return co_await answer_chat(services, std::move(context), std::move(request->chat), format, sink);
}

}  // namespace

// The schema is loose: what is wrong with a request is said in OpenAI's way, by parse_responses_request().
Result<> add_responses(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Route post = route("POST", "/v1/responses");
  post.envelope = op::Envelope::kOpenAi;
  op::Operation responding{
      .id = "openai::responses",
      .help =
          "Responses as OpenAI defines them, of any agent or model: the model 'chela' (or "
          "'chela/<agent>') is the agent, any other the model itself, whoever provides it.",
      .in = schema(R"({"type": "object", "properties": {
        "model": {"description": "chela, chela/<agent>, or a model"}, "input": {"description": "a text, or an array of items"},
        "instructions": {}, "stream": {"description": "true: events as server-sent events"}, "tools": {}, "tool_choice": {},
        "temperature": {}, "max_output_tokens": {}, "reasoning": {}, "text": {},
        "previous_response_id": {"description": "an agent's answer to go on from"},
        "metadata": {"description": "thread_id: the thread to go on with"}}})"),
      .out = schema(R"({"type": "object"})"),
      .permission = "chat:write",
      .kind = op::Kind::kEvents,
      .routes = {post},
      .handler = [s](CallContext c, Value a, op::EventSink& sink) {
        return respond(*s, std::move(c), std::move(a), sink);
      }};
  return add_all(registry, {responding});
}

}  // namespace chela::api
