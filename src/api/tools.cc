#include "api/operations.h"
#include "api/schema_text.h"
#include "tools/registry.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

Task<Result<Value>> list_tools(const Services& services, CallContext context) {
  Value list = Value::array();
  for (const llm::ToolSpec& spec : services.tools->specs(context.scope, {"*"})) {
    list.push_back(Value::object({{"name", spec.name},
                                  {"description", spec.description},
                                  {"group", services.tools->group(context.scope, spec.name)},
                                  {"parameters", *spec.parameters}}));
  }
  co_return Value::object({{"tools", std::move(list)}});
}

Task<Result<Value>> list_agents(const Services& services) {
  Value list = Value::array();
  for (const agent::AgentInfo& each : services.engine->agents()) {
    list.push_back(
        Value::object({{"name", each.name}, {"description", each.description}, {"model", each.model}}));
  }
  co_return Value::object({{"agents", std::move(list)}});
}

}  // namespace

Result<> add_tools(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation tools{
      .id = "tool::list",
      .help = "The tools that agents can call.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"tools": {"type": "array", "items": {"type": "object", "properties": {
        "name": {"type": "string"}, "description": {"type": "string"}, "group": {"type": "string"}, "parameters": {"type": "object"}}}}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/tools")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value) { return list_tools(*s, std::move(c)); }};
  op::Operation agents{
      .id = "agent::list",
      .help = "The agents that can be talked to.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"agents": {"type": "array", "items": {"type": "object", "properties": {
        "name": {"type": "string"}, "description": {"type": "string"},
        "model": {"type": "string", "description": "that its next turn uses"}}}}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/agents")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext, Value) { return list_agents(*s); }};
  return add_all(registry, {tools, agents});
}

}  // namespace chela::api
