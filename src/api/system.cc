#include "api/operations.h"
#include "api/schema_text.h"
#include "api/views.h"
#include "llm/routing/routing_provider.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

Task<Result<Value>> health(CallContext, Value) {
  co_return Value::object({{"status", "healthy"}, {"channel", "gateway"}});
}

Task<Result<Value>> alive(CallContext, Value) { co_return Value::object({{"status", "ok"}}); }

Task<Result<Value>> ready(const Services& services) {
  if (!services.ready())
    co_return fail(Code::kUnavailable, "the engine is starting or stopping; try again shortly");
  co_return Value::object({{"status", "ready"}});
}

std::optional<double> cost_of(const Services& services, const agent::ModelUsage& used) {
  const std::optional<llm::Price> price = services.price(used.model);
  if (!price) return std::nullopt;
  return llm::cost_of(used.tokens, *price);
}

// The cost is a text of six decimals, as clients of IronClaw expect it.
Value model_usage(const Services& services, const agent::ModelUsage& used) {
  Value view = Value::object({{"model", used.model},
                              {"turns", used.turns},
                              {"input_tokens", used.tokens.input_tokens},
                              {"output_tokens", used.tokens.output_tokens},
                              {"cached_tokens", used.tokens.cached_tokens}});
  if (const std::optional<double> cost = cost_of(services, used))
    view.set("cost", fmt::format("{:.6f}", *cost));
  return view;
}

Task<Result<Value>> status(const Services& services) {
  const Status now = services.status();
  llm::Usage sum;
  Value models = Value::array();
  for (const agent::ModelUsage& each : services.engine->usage_since_start()) {
    sum.input_tokens += each.tokens.input_tokens;
    sum.output_tokens += each.tokens.output_tokens;
    sum.cached_tokens += each.tokens.cached_tokens;
    models.push_back(model_usage(services, each));
  }
  Value agents = Value::array();
  for (const agent::AgentInfo& each : services.engine->agents()) agents.push_back(each.name);
  Value ports = Value::object();
  for (const auto& [name, port] : now.ports) ports.set(name, port);
  Value view = Value::object({{"version", now.version},
                              {"pid", now.pid},
                              {"started_at", format_rfc3339(now.started_at)},
                              {"uptime_secs", (services.loop->clock().now() - now.started_at) / 1000},
                              {"home", now.home},
                              {"socket", now.socket},
                              {"ports", std::move(ports)},
                              {"sse_connections", now.event_streams},
                              {"ws_connections", now.sockets},
                              {"total_connections", now.connections},
                              {"backend", services.models().backend},
                              {"model", services.models().model},
                              {"agents", std::move(agents)},
                              {"usage", usage_view(sum)},
                              {"model_usage", std::move(models)}});
  if (services.routing != nullptr && !services.routing->cheap_model().empty()) {
    const llm::routing::RoutingStats routed = services.routing->stats();
    view.set("routing", Value::object({{"cheap_model", services.routing->cheap_model()},
                                       {"total", routed.total},
                                       {"cheap", routed.cheap},
                                       {"primary", routed.primary},
                                       {"escalations", routed.escalations}}));
  }
  co_return view;
}

Task<Result<Value>> document(const op::Registry& registry, const Services& services) {
  co_return op::openapi(registry, op::Surface::kGateway, "Chela", services.status().version);
}

Value status_schema() {
  return schema(R"({"type": "object", "properties": {"status": {"type": "string"}}})");
}

}  // namespace

Result<> add_system(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  const op::Registry* r = &registry;
  op::Operation healthy{.id = "system::health",
                        .help = "Says that the gateway answers.",
                        .in = no_input(),
                        .out = status_schema(),
                        .routes = {route("GET", "/api/health")},
                        .idempotent = op::Idempotent::kYes,
                        .handler = [](CallContext c, Value a) { return health(std::move(c), std::move(a)); }};
  op::Operation living{.id = "system::alive",
                       .help = "Says that the process lives.",
                       .in = no_input(),
                       .out = status_schema(),
                       .routes = {route("GET", "/healthz")},
                       .idempotent = op::Idempotent::kYes,
                       .handler = [](CallContext c, Value a) { return alive(std::move(c), std::move(a)); }};
  op::Operation readying{.id = "system::ready",
                         .help = "Says whether the engine takes work.",
                         .in = no_input(),
                         .out = status_schema(),
                         .routes = {route("GET", "/readyz")},
                         .idempotent = op::Idempotent::kYes,
                         .handler = [s](CallContext, Value) { return ready(*s); }};
  op::Operation reporting{.id = "system::status",
                          .help = "The engine's version, ports, connections and model.",
                          .in = no_input(),
                          .out = schema(R"({"type": "object", "properties": {
        "version": {"type": "string"}, "pid": {"type": "integer"}, "started_at": {"type": "string"},
        "uptime_secs": {"type": "integer"}, "home": {"type": "string"}, "socket": {"type": "string"}, "ports": {"type": "object"},
        "sse_connections": {"type": "integer"}, "ws_connections": {"type": "integer"}, "total_connections": {"type": "integer"},
        "backend": {"type": "string"}, "model": {"type": "string"}, "agents": {"type": "array", "items": {"type": "string"}},
        "usage": {"type": "object", "description": "of all users since the start"},
        "routing": {"type": "object", "description": "calls since the start that smart routing decided about; only with a cheap model",
          "properties": {"cheap_model": {"type": "string"}, "total": {"type": "integer"}, "cheap": {"type": "integer"},
          "primary": {"type": "integer"}, "escalations": {"type": "integer"}}},
        "model_usage": {"type": "array", "items": {"type": "object", "properties": {
          "model": {"type": "string"}, "turns": {"type": "integer"}, "input_tokens": {"type": "integer"},
          "output_tokens": {"type": "integer"}, "cached_tokens": {"type": "integer"},
          "cost": {"type": "string", "description": "US dollars; left out when the model's price is not known"}}}}}})"),
                          .permission = "system:read",
                          .routes = {route("GET", "/api/gateway/status")},
                          .idempotent = op::Idempotent::kYes,
                          .handler = [s](CallContext, Value) { return status(*s); }};
  op::Operation describing{.id = "system::openapi",
                           .help = "This document: all operations of the gateway as OpenAPI 3.1.",
                           .in = no_input(),
                           .out = schema(R"({"type": "object"})"),
                           .permission = "system:read",
                           .routes = {route("GET", "/openapi.json")},
                           .idempotent = op::Idempotent::kYes,
                           .handler = [r, s](CallContext, Value) { return document(*r, *s); }};
  return add_all(registry, {healthy, living, readying, reporting, describing});
}

}  // namespace chela::api
