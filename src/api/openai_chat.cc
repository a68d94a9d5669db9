#include "api/openai_chat.h"

#include <algorithm>

#include "api/key_models.h"
#include "api/listed_models.h"
#include "api/openai_answer.h"
#include "api/openai_errors.h"
#include "api/operations.h"
#include "api/schema_text.h"
#include "base/strings.h"
#include "obs/log.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

constexpr std::string_view kAgentModel = "chela";

Task<Result<Value>> chat(const Services& services, CallContext context, Value args, op::EventSink& sink) {
  Result<ChatRequest> request = parse_chat_request(args);
  if (!request) co_return fail(request.error());
  using Usage = OpenAiFormat::Usage;
  const OpenAiFormat format(request->include_usage ? Usage::kInclude : Usage::kLeaveOut);
  co_return co_await answer_chat(services, std::move(context), std::move(*request), format, sink);
}

// Agents first; then models. A backend that cannot be asked hides only its own list. A key sees what it may use.
Task<std::vector<ListedModel>> all_models(const Services& services, op::Principal principal,
                                          std::stop_token stop) {
  std::vector<ListedModel> all{{.id = std::string(kAgentModel), .provider = std::string(kAgentModel)}};
  for (const agent::AgentInfo& agent : services.engine->agents())
    all.push_back(
        {.id = fmt::format("{}/{}", kAgentModel, agent.name), .provider = std::string(kAgentModel)});
  const Result<std::vector<std::string>> offered = co_await services.provider_for("").models(stop);
  if (!offered)
    log::warn("api", "the provider's models cannot be listed", {{"error", offered.error().text()}});
  std::vector<std::string> own = offered.value_or(std::vector<std::string>{});
  const std::string configured = services.models().model;
  if (!configured.empty() && std::find(own.begin(), own.end(), configured) == own.end())
    own.insert(own.begin(), configured);
  for (ListedModel& each : listed_models(services, std::move(own))) {
    const bool there =
        std::any_of(all.begin(), all.end(), [&each](const ListedModel& m) { return m.id == each.id; });
    if (!there) all.push_back(std::move(each));
  }
  std::erase_if(all, [&](const ListedModel& each) { return !may_use_model(services, principal, each.id); });
  co_return all;
}

Value model_view(const Services& services, const ListedModel& model) {
  return Value::object({{"id", model.id},
                        {"object", "model"},
                        {"created", services.status().started_at / 1000},
                        {"owned_by", model.provider}});
}

Task<Result<Value>> list_models(const Services& services, CallContext context) {
  Value data = Value::array();
  for (const ListedModel& each : co_await all_models(services, context.principal, context.stop))
    data.push_back(model_view(services, each));
  co_return Value::object({{"object", "list"}, {"data", std::move(data)}});
}

Task<Result<Value>> show_model(const Services& services, CallContext context, std::string id) {
  const std::vector<ListedModel> all = co_await all_models(services, context.principal, context.stop);
  const auto found =
      std::find_if(all.begin(), all.end(), [&id](const ListedModel& each) { return each.id == id; });
  if (found == all.end()) co_return no_such_model(id);
  co_return model_view(services, *found);
}

op::Route v1(std::string method, std::string path) {
  op::Route out = route(std::move(method), std::move(path));
  out.envelope = op::Envelope::kOpenAi;
  return out;
}

}  // namespace

std::optional<std::string> agent_of_model(std::string_view model) {
  if (model == kAgentModel) return "";
  if (!model.starts_with(kAgentModel) || model.substr(kAgentModel.size(), 1) != "/") return std::nullopt;
  return std::string(model.substr(kAgentModel.size() + 1));
}

AnswerHead new_head(const Services& services, std::string model) {
  return AnswerHead{.id = strings::replace_all(services.ids->next(), "-", ""),
                    .created = services.loop->clock().now() / 1000,
                    .model = std::move(model)};
}

Task<Result<Value>> answer_chat(const Services& services, CallContext context, ChatRequest request,
                                const AnswerFormat& format, op::EventSink& sink) {
  if (Result<> may = check_model(services, context.principal, request.request.model); !may)
    co_return fail(std::move(may.error()));
  if (agent_of_model(request.request.model))
    co_return co_await agent_chat(services, std::move(context), std::move(request), format, sink);
  co_return co_await direct_chat(services, std::move(context), std::move(request), format, sink);
}

// The schemas are loose: what is wrong with a request is said in OpenAI's way, by parse_chat_request().
Result<> add_openai(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation chatting{.id = "openai::chat",
                         .help =
                             "Chat completions as OpenAI defines them. The model 'chela' (or "
                             "'chela/<agent>') is the agent; any other is the model itself.",
                         .in = schema(R"({"type": "object", "properties": {
        "model": {"description": "chela, chela/<agent>, or a model"},
        "messages": {"description": "an array of messages with role and content"},
        "stream": {"description": "true: chunks as server-sent events"}, "stream_options": {}, "tools": {}, "tool_choice": {},
        "temperature": {}, "max_tokens": {}, "metadata": {"description": "thread_id: the thread to go on with"}}})"),
                         .out = schema(R"({"type": "object"})"),
                         .permission = "chat:write",
                         .kind = op::Kind::kEvents,
                         .routes = {v1("POST", "/v1/chat/completions")},
                         .handler = [s](CallContext c, Value a, op::EventSink& sink) {
                           return chat(*s, std::move(c), std::move(a), sink);
                         }};
  op::Operation listing{
      .id = "openai::models",
      .help = "The agents and models that chat completions accept.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"data": {"type": "array", "items": {"type": "object"}}}})"),
      .permission = "chat:read",
      .routes = {v1("GET", "/v1/models")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value) { return list_models(*s, std::move(c)); }};
  op::Operation showing{
      .id = "openai::model",
      .help = "One of the models.",
      .in = schema(R"({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}})"),
      .out = schema(R"({"type": "object"})"),
      .permission = "chat:read",
      .routes = {v1("GET", "/v1/models/{id...}")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return show_model(*s, std::move(c), a.string_or("id")); }};
  return add_all(registry, {chatting, listing, showing});
}

}  // namespace chela::api
