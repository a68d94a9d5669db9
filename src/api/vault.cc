#include "security/vault.h"

#include "api/operations.h"
#include "api/schema_text.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

Task<Result<Value>> list(const Services& services, CallContext context, Value) {
  const Result<std::vector<security::SecretInfo>> found = co_await services.vault->list(context.scope);
  if (!found) co_return fail(found.error());
  Value secrets = Value::array();
  for (const security::SecretInfo& each : *found) {
    secrets.push_back(Value::object({{"name", each.name},
                                     {"created_at", format_rfc3339(each.created_at)},
                                     {"updated_at", format_rfc3339(each.updated_at)}}));
  }
  co_return Value::object({{"secrets", std::move(secrets)}});
}

Task<Result<Value>> set(const Services& services, CallContext context, Value args) {
  const std::string name = args.string_or("name");
  std::string text = args.string_or("value");
  crypto::Secret value = crypto::Secret::taken_from(text);
  if (Result<> stored = co_await services.vault->set(context.scope, name, std::move(value)); !stored)
    co_return fail(stored.error());
  co_return Value::object({{"name", name}, {"status", "stored"}});
}

Task<Result<Value>> remove(const Services& services, CallContext context, Value args) {
  const std::string name = args.string_or("name");
  if (Result<> removed = co_await services.vault->remove(context.scope, name); !removed)
    co_return fail(removed.error());
  co_return Value::object({{"name", name}, {"status", "deleted"}});
}

}  // namespace

Result<> add_vault(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  const json::Value answer = schema(
      R"({"type": "object", "properties": {"name": {"type": "string"}, "status": {"type": "string"}}})");
  op::Operation listing{
      .id = "vault::list",
      .help = "The names of your secrets. No operation shows a value.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"secrets": {"type": "array", "items": {"type": "object", "properties": {
        "name": {"type": "string"}, "created_at": {"type": "string"}, "updated_at": {"type": "string"}}}}}})"),
      .permission = "admin",
      .routes = {route("GET", "/api/vault")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return list(*s, std::move(c), std::move(a)); }};
  op::Operation setting{
      .id = "vault::set",
      .help = "Puts a secret into the vault, in place of one with this name.",
      .in = schema(R"({"type": "object", "required": ["name", "value"], "properties": {
        "name": {"type": "string"}, "value": {"type": "string", "description": "goes in only"}}})"),
      .out = answer,
      .permission = "admin",
      .routes = {route("PUT", "/api/vault/{name}")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return set(*s, std::move(c), std::move(a)); }};
  op::Operation deleting{
      .id = "vault::delete",
      .help = "Deletes a secret.",
      .in = schema(R"({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}})"),
      .out = answer,
      .permission = "admin",
      .routes = {route("DELETE", "/api/vault/{name}")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return remove(*s, std::move(c), std::move(a)); }};
  return add_all(registry, {listing, setting, deleting});
}

}  // namespace chela::api
