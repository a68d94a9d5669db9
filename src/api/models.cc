#include <algorithm>

#include "agent/dependencies.h"
#include "api/key_models.h"
#include "api/listed_models.h"
#include "api/operations.h"
#include "api/schema_text.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

Scope of_agent(Scope scope, const Value& args) {
  if (const std::string agent = args.string_or("agent"); !agent.empty()) scope.agent = agent;
  return scope;
}

// What an agent uses when the caller has chosen nothing.
std::string configured(const Services& services, std::string_view name) {
  for (const agent::AgentInfo& each : services.engine->agents()) {
    if (each.name == (name.empty() ? agent::kDefaultAgent : name)) return each.model;
  }
  return services.models().model;
}

// The configured and the active model are listed also when the provider cannot be asked; `error` then says why the others are not.
Task<Result<Value>> list(const Services& services, CallContext context, Value args) {
  const Result<std::vector<std::string>> offered = co_await services.provider_for("").models(context.stop);
  std::vector<ListedModel> all = listed_models(services, offered.value_or(std::vector<std::string>{}));
  const ModelSettings settings = services.models();
  const std::string& chosen = settings.model;
  const Result<std::string> active = co_await services.engine->model(of_agent(context.scope, args));
  if (!active) co_return fail(active.error());
  for (const std::string& name : {chosen, *active}) {
    const bool there =
        std::any_of(all.begin(), all.end(), [&name](const ListedModel& m) { return m.id == name; });
    if (!name.empty() && !there) all.insert(all.begin(), {.id = name, .provider = settings.backend});
  }
  Value models = Value::array();
  for (const ListedModel& each : all) {
    if (!may_use_model(services, context.principal, each.id)) continue;
    models.push_back(
        Value::object({{"id", each.id}, {"provider", each.provider}, {"default", each.id == chosen}}));
  }
  Value view = Value::object({{"backend", settings.backend},
                              {"model", chosen},
                              {"configured", configured(services, of_agent(context.scope, args).agent)},
                              {"active", *active},
                              {"models", std::move(models)}});
  if (!offered) view.set("error", json::from_error(offered.error()));
  co_return view;
}

Task<Result<Value>> choose(const Services& services, CallContext context, Value args) {
  const Scope scope = of_agent(context.scope, args);
  const std::string wanted = args.string_or("model");
  if (Result<> may = check_agent(services, context.principal, scope.agent, ""); !may)
    co_return fail(std::move(may.error()));
  if (Result<> may = wanted.empty() ? Result<>() : check_model(services, context.principal, wanted); !may)
    co_return fail(std::move(may.error()));
  const Result<> used = co_await services.engine->use_model(scope, args.string_or("model"));
  if (!used) co_return fail(used.error());
  const Result<std::string> active = co_await services.engine->model(scope);
  if (!active) co_return fail(active.error());
  co_return Value::object({{"active", *active}, {"configured", configured(services, scope.agent)}});
}

}  // namespace

Result<> add_models(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation listing{
      .id = "model::list",
      .help = "The models of the configured backend, the configured one and the one that the caller uses.",
      .in = schema(R"({"type": "object", "properties": {"agent": {"type": "string", "maxLength": 64}}})"),
      .out = schema(R"({"type": "object", "properties": {
        "backend": {"type": "string"}, "model": {"type": "string", "description": "that is asked when nobody names one"},
        "configured": {"type": "string", "description": "that the agent uses while the caller has chosen none"},
        "active": {"type": "string", "description": "that the caller's next turn uses: what /model chose, else that of the agent"},
        "models": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}, "default": {"type": "boolean"}}}},
        "error": {"type": "object"}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/models")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return list(*s, std::move(c), std::move(a)); }};
  op::Operation choosing{
      .id = "model::choose",
      .help = "Another model for the caller's next turns with an agent, as /model does.",
      .in = schema(R"({"type": "object", "required": ["model"], "properties": {
        "model": {"type": "string", "maxLength": 256, "description": "\"\": the configured one again"},
        "agent": {"type": "string", "maxLength": 64}}})"),
      .out = schema(R"({"type": "object", "properties": {
        "active": {"type": "string", "description": "that the caller's next turn uses"},
        "configured": {"type": "string", "description": "that it uses while the caller has chosen none"}}})"),
      .permission = "chat:write",
      .routes = {route("PUT", "/api/models/active")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return choose(*s, std::move(c), std::move(a)); }};
  return add_all(registry, {listing, choosing});
}

}  // namespace chela::api
