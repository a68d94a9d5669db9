#include "api/operations.h"
#include "api/schema_text.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

// What the bus says of itself to the caller, who sees what is theirs.
Task<Result<Value>> ask_bus(const Services& services, CallContext context, std::string function) {
  return services.call_function(std::move(context), std::move(function), Value::object());
}

}  // namespace

Result<> add_bus(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation workers{
      .id = "bus::workers",
      .help = "The programs that are connected to the bus, with the functions they provide.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"workers": {"type": "array", "items": {"type": "object", "properties": {
        "id": {"type": "string"}, "name": {"type": "string"}, "description": {"type": "string"}, "runtime": {"type": "string"},
        "version": {"type": "string"}, "status": {"type": "string"}, "connected_at_ms": {"type": "integer"},
        "functions": {"type": "array", "items": {"type": "string"}}}}}}})"),
      .permission = "bus:call",
      .routes = {route("GET", "/api/bus/workers")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value) { return ask_bus(*s, std::move(c), "engine::workers::list"); }};
  op::Operation triggers{
      .id = "bus::triggers",
      .help = "What calls functions by itself: schedules, events, requests.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"registered_triggers": {"type": "array", "items": {"type": "object", "properties": {
        "id": {"type": "string"}, "trigger_type": {"type": "string"}, "function_id": {"type": "string"}, "worker_name": {"type": "string"},
        "config": {}, "bound": {"type": "boolean", "description": "whether anything provides the type"}}}}}})"),
      .permission = "bus:call",
      .routes = {route("GET", "/api/bus/triggers")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value) {
        return ask_bus(*s, std::move(c), "engine::registered-triggers::list");
      }};
  return add_all(registry, {workers, triggers});
}

}  // namespace chela::api
