#include "security/tokens.h"
#include "api/operations.h"
#include "api/permissions.h"
#include "api/schema_text.h"
#include "runtime/event_loop.h"
#include "tools/registry.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

Value permissions_view(const op::Principal& principal) {
  Value list = Value::array();
  for (const std::string& each : principal.permissions) list.push_back(each);
  return list;
}

Value token_view(const security::TokenInfo& token) {
  Value view = Value::object({{"id", token.id},
                              {"label", token.label},
                              {"user", token.principal.user},
                              {"permissions", permissions_view(token.principal)},
                              {"created_at", format_rfc3339(token.created_at)}});
  if (token.principal.expires) view.set("expires_at", format_rfc3339(*token.principal.expires));
  if (token.revoked_at) view.set("revoked_at", format_rfc3339(*token.revoked_at));
  return view;
}

// The permissions of the new token. Nobody gives away what they may not do themselves.
Result<std::set<std::string, std::less<>>> granted(const op::Principal& giver, const ToolGroups& groups,
                                                   const Value& wanted) {
  std::set<std::string, std::less<>> permissions;
  for (const Value& each : *wanted.as_array()) {
    const std::string& name = *each.as_string();
    if (const Result<> known = check_permission(name, groups); !known) return fail(known.error());
    if (!giver.allows(name)) return fail(Code::kPermissionDenied, "you may not give the permission {}", name);
    permissions.insert(name);
  }
  return permissions;
}

Task<Result<Value>> create(const Services& services, CallContext context, Value args) {
  Result<std::set<std::string, std::less<>>> permissions =
      granted(context.principal, services.tools->groups(), *args.find("permissions"));
  if (!permissions) co_return fail(permissions.error());
  op::Principal principal{.realm = context.principal.realm,
                          .user = context.principal.user,
                          .permissions = std::move(*permissions),
                          .expires = context.principal.expires};
  if (const std::string text = args.string_or("expires_in"); !text.empty()) {
    const Result<std::chrono::milliseconds> life = parse_duration(text);
    if (!life) co_return fail(Code::kInvalidArgument, "expires_in: {}", life.error().message);
    const UnixMs until = services.loop->clock().now() + life->count();
    principal.expires = principal.expires ? std::min(*principal.expires, until) : until;
  }
  Value shown = permissions_view(principal);
  const Result<std::string> text =
      co_await services.tokens->create(std::move(principal), args.string_or("label"));
  if (!text) co_return fail(text.error());
  co_return Value::object(
      {{"token", *text}, {"label", args.string_or("label")}, {"permissions", std::move(shown)}});
}

Task<Result<Value>> list(const Services& services, CallContext context, Value) {
  const Result<std::vector<security::TokenInfo>> found = co_await services.tokens->list(context.scope);
  if (!found) co_return fail(found.error());
  Value tokens = Value::array();
  for (const security::TokenInfo& each : *found) tokens.push_back(token_view(each));
  co_return Value::object({{"tokens", std::move(tokens)}});
}

Task<Result<Value>> revoke(const Services& services, CallContext context, Value args) {
  const std::string id = args.string_or("id");
  if (Result<> revoked = co_await services.tokens->revoke(context.scope, id); !revoked)
    co_return fail(revoked.error());
  co_return Value::object({{"id", id}, {"status", "revoked"}});
}

}  // namespace

Result<> add_tokens(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation creating{
      .id = "token::create",
      .help = "Makes a token that acts for you with the permissions named. Its text is shown this once.",
      .in = schema(R"({"type": "object", "properties": {
        "label": {"type": "string", "maxLength": 200, "default": ""},
        "permissions": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 100}, "minItems": 1,
          "maxItems": 100, "default": ["chat:*", "memory:*", "tools:*"]},
        "expires_in": {"type": "string", "description": "a duration: 12h, 30d; else it does not expire"}}})"),
      .out = schema(R"({"type": "object", "properties": {
        "token": {"type": "string"}, "label": {"type": "string"}, "permissions": {"type": "array"}}})"),
      .permission = "admin",
      .routes = {route("POST", "/api/tokens", 201)},
      .handler = [s](CallContext c, Value a) { return create(*s, std::move(c), std::move(a)); }};
  op::Operation listing{
      .id = "token::list",
      .help = "Your tokens, revoked ones too, without their secrets.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"tokens": {"type": "array", "items": {"type": "object"}}}})"),
      .permission = "admin",
      .routes = {route("GET", "/api/tokens")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return list(*s, std::move(c), std::move(a)); }};
  op::Operation revoking{
      .id = "token::revoke",
      .help = "Ends a token at once.",
      .in = schema(
          R"({"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "minLength": 1}}})"),
      .out = schema(
          R"({"type": "object", "properties": {"id": {"type": "string"}, "status": {"const": "revoked"}}})"),
      .permission = "admin",
      .routes = {route("DELETE", "/api/tokens/{id}")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return revoke(*s, std::move(c), std::move(a)); }};
  return add_all(registry, {creating, listing, revoking});
}

}  // namespace chela::api
