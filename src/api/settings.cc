#include "api/operations.h"
#include "api/schema_text.h"
#include "api/settings_service.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

// Nothing for a change that counts now: the route then answers 204.
Value told(const std::string& warning) {
  return warning.empty() ? Value() : Value::object({{"warning", warning}});
}

Task<Result<Value>> list(const Services& services, CallContext context, Value args) {
  co_return co_await services.settings->list(context.principal, args.string_or("prefix"));
}

Task<Result<Value>> get(const Services& services, CallContext context, Value args) {
  co_return co_await services.settings->get(context.principal, args.string_or("key"));
}

Task<Result<Value>> set(const Services& services, CallContext context, Value args) {
  const Result<std::string> warning =
      co_await services.settings->put(context.principal, args.string_or("key"), *args.find("value"));
  if (!warning) co_return fail(warning.error());
  co_return told(*warning);
}

Task<Result<Value>> reset(const Services& services, CallContext context, Value args) {
  const Result<std::string> warning =
      co_await services.settings->remove(context.principal, args.string_or("key"));
  if (!warning) co_return fail(warning.error());
  co_return told(*warning);
}

Task<Result<Value>> export_all(const Services& services, CallContext context) {
  co_return co_await services.settings->export_all(context.principal);
}

Task<Result<Value>> import_all(const Services& services, CallContext context, Value args) {
  const Result<std::vector<std::string>> warnings =
      co_await services.settings->import_all(context.principal, *args.find("settings"));
  if (!warnings) co_return fail(warnings.error());
  if (warnings->empty()) co_return Value();
  Value list = Value::array();
  for (const std::string& each : *warnings) list.push_back(each);
  co_return Value::object({{"warnings", std::move(list)}});
}

constexpr std::string_view kEntry = R"({"type": "object", "properties": {
  "key": {"type": "string"}, "value": {"description": "what is configured; null when not set, and for a secret"},
  "updated_at": {"type": "string", "description": "when it was stored"},
  "source": {"enum": ["flag", "environment", "foreign", "file", "settings", "default"]},
  "origin": {"type": "string"}, "default": {}, "help": {"type": "string"},
  "type": {"enum": ["string", "integer", "number", "boolean", "duration", "bytes", "choice", "list", "any"]},
  "choices": {"type": "array", "items": {"type": "string"}}, "environment": {"type": "array", "items": {"type": "string"}},
  "reloadable": {"type": "boolean", "description": "a change counts at once"},
  "secret": {"type": "boolean"}, "is_set": {"type": "boolean", "description": "of a secret"},
  "reference": {"type": "string", "description": "secret:NAME, when the secret is kept in the vault"},
  "restart_required": {"type": "boolean"}, "running": {"description": "the value until then"}}})";

constexpr std::string_view kWarning = R"({"type": ["object", "null"], "properties": {
  "warning": {"type": "string", "description": "a higher layer wins, or a restart is needed"}}})";

}  // namespace

Result<> add_settings(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation listing{
      .id = "setting::list",
      .help = "All settings with their values and where these come from.",
      .in = schema(
          R"({"type": "object", "properties": {"prefix": {"type": "string", "maxLength": 128, "description": "only keys that begin so"}}})"),
      .out = schema(fmt::format(
          R"({{"type": "object", "properties": {{"settings": {{"type": "array", "items": {}}}}}}})", kEntry)),
      .permission = "settings:read",
      .routes = {route("GET", "/api/settings")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return list(*s, std::move(c), std::move(a)); }};
  op::Operation getting{
      .id = "setting::get",
      .help = "One setting.",
      .in = schema(
          R"({"type": "object", "required": ["key"], "properties": {"key": {"type": "string", "minLength": 1}}})"),
      .out = schema(kEntry),
      .permission = "settings:read",
      .routes = {route("GET", "/api/settings/{key}")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return get(*s, std::move(c), std::move(a)); }};
  op::Operation setting{
      .id = "setting::set",
      .help = "Stores a setting. Those of the engine need the permission admin, ui.* are the caller's own.",
      .in = schema(R"({"type": "object", "required": ["key", "value"], "properties": {
        "key": {"type": "string", "minLength": 1}, "value": {}}})"),
      .out = schema(kWarning),
      .permission = "settings:write",
      .routes = {route("PUT", "/api/settings/{key}", 204)},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return set(*s, std::move(c), std::move(a)); }};
  op::Operation resetting{
      .id = "setting::reset",
      .help = "Forgets a stored setting; what is below counts again.",
      .in = schema(
          R"({"type": "object", "required": ["key"], "properties": {"key": {"type": "string", "minLength": 1}}})"),
      .out = schema(kWarning),
      .permission = "settings:write",
      .routes = {route("DELETE", "/api/settings/{key}", 204)},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return reset(*s, std::move(c), std::move(a)); }};
  op::Operation exporting{
      .id = "setting::export",
      .help = "What is stored, as an object that setting::import takes. Secrets are not among it.",
      .in = no_input(),
      .out = schema(R"({"type": "object", "properties": {"settings": {"type": "object"}}})"),
      .permission = "settings:read",
      .routes = {route("GET", "/api/settings/export")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value) { return export_all(*s, std::move(c)); }};
  op::Operation importing{
      .id = "setting::import",
      .help = "Stores all of these settings, or none when one of them is wrong.",
      .in = schema(
          R"({"type": "object", "required": ["settings"], "properties": {"settings": {"type": "object"}}})"),
      .out = schema(
          R"({"type": ["object", "null"], "properties": {"warnings": {"type": "array", "items": {"type": "string"}}}})"),
      .permission = "settings:write",
      .routes = {route("POST", "/api/settings/import", 204)},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return import_all(*s, std::move(c), std::move(a)); }};
  return add_all(registry, {listing, getting, setting, resetting, exporting, importing});
}

}  // namespace chela::api
