#include <algorithm>

#include "api/operations.h"
#include "api/schema_text.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

// The configured model is listed also when the provider cannot be asked; `error` then says why the others are not.
Task<Result<Value>> list(const Services& services, CallContext context) {
  const Result<std::vector<std::string>> offered = co_await services.provider_for("").models(context.stop);
  std::vector<std::string> ids = offered.value_or(std::vector<std::string>{});
  const std::string& chosen = services.models.model;
  if (!chosen.empty() && std::find(ids.begin(), ids.end(), chosen) == ids.end())
    ids.insert(ids.begin(), chosen);
  Value models = Value::array();
  for (const std::string& id : ids) models.push_back(Value::object({{"id", id}, {"default", id == chosen}}));
  Value view =
      Value::object({{"backend", services.models.backend}, {"model", chosen}, {"models", std::move(models)}});
  if (!offered) view.set("error", json::from_error(offered.error()));
  co_return view;
}

}  // namespace

Result<> add_models(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation listing{.id = "model::list",
                        .help = "The models of the configured backend, and the one that is used.",
                        .in = no_input(),
                        .out = schema(R"({"type": "object", "properties": {
        "backend": {"type": "string"}, "model": {"type": "string"},
        "models": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}, "default": {"type": "boolean"}}}},
        "error": {"type": "object"}}})"),
                        .permission = "chat:read",
                        .routes = {route("GET", "/api/models")},
                        .idempotent = op::Idempotent::kYes,
                        .handler = [s](CallContext c, Value) { return list(*s, std::move(c)); }};
  return add_all(registry, {listing});
}

}  // namespace chela::api
