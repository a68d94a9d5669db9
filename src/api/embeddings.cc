#include "api/embeddings_request.h"
#include "api/key_models.h"
#include "api/openai_chat.h"
#include "api/openai_errors.h"
#include "api/operations.h"
#include "api/schema_text.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

Task<Result<Value>> embed(const Services& services, CallContext context, Value args) {
  Result<EmbeddingsRequest> request = parse_embeddings_request(args);
  if (!request) co_return fail(request.error());
  const std::string model = request->request.model;
  if (agent_of_model(model))
    co_return bad_param("model", fmt::format("'{}' is an agent; name a model that makes embeddings, such as "
                                             "openai/text-embedding-3-small",
                                             model));
  if (Result<> may = check_model(services, context.principal, model); !may)
    co_return fail(std::move(may.error()));
  request->request.caller = {.scope = context.scope, .channel = "v1", .key = context.principal.token_id};
  Result<llm::Embeddings> made =
      co_await services.embed(std::move(request->request), context.deadline, context.stop);
  if (!made) co_return fail(upstream_error(made.error()));
  co_return embeddings_view(*made, request->encoding);
}

}  // namespace

// The schema is loose: what is wrong with a request is said in OpenAI's way, by parse_embeddings_request().
Result<> add_embeddings(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Route post = route("POST", "/v1/embeddings");
  post.envelope = op::Envelope::kOpenAi;
  op::Operation embedding{
      .id = "openai::embeddings",
      .help = "Texts as vectors, as OpenAI defines it, by any model that makes embeddings.",
      .in = schema(R"({"type": "object", "properties": {
        "model": {"description": "the name of a model that makes embeddings"},
        "input": {"description": "a text, or an array of texts"}, "encoding_format": {"description": "float or base64"},
        "dimensions": {"description": "of the vectors, where the model can make shorter ones"},
        "user": {"description": "told to the provider"}}})"),
      .out =
          schema(R"({"type": "object", "properties": {"data": {"type": "array", "items": {"type": "object"}},
        "usage": {"type": "object"}}})"),
      .permission = "chat:write",
      .routes = {post},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return embed(*s, std::move(c), std::move(a)); }};
  return add_all(registry, {embedding});
}

}  // namespace chela::api
