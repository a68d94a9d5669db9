#include "security/tokens.h"
#include "api/key_models.h"
#include "api/operations.h"
#include "api/permissions.h"
#include "api/schema_text.h"
#include "api/settings_service.h"
#include "base/strings.h"
#include "runtime/event_loop.h"
#include "runtime/mutex.h"
#include "tools/registry.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

constexpr std::string_view kLimits = "budget.limits";
using Changing = std::shared_ptr<runtime::Mutex>;

Value permissions_view(const op::Principal& principal) {
  Value list = Value::array();
  for (const std::string& each : principal.permissions) {
    if (!each.starts_with(kModelPermission)) list.push_back(each);
  }
  return list;
}

Value models_view(const op::Principal& principal) {
  Value list = Value::array();
  for (const std::string& each : model_patterns(principal)) list.push_back(each);
  return list;
}

// Takes the limits of the key out of the settings and adds new ones. One after the other, so that none is lost.
Task<Result<>> limit_key(const Services& services, Changing changing, op::Principal caller, std::string key,
                         std::vector<std::string> added) {
  const runtime::Mutex::Guard guard = co_await changing->lock();
  const Result<Value> now = co_await services.settings->get(caller, std::string(kLimits));
  if (!now) co_return fail(now.error());
  Value rules = Value::array();
  const Value* there = now->find("value");
  const json::Array* list = there != nullptr ? there->as_array() : nullptr;
  const std::string own = fmt::format("key:{} ", key);
  for (const Value& each : list != nullptr ? *list : json::Array()) {
    if (!each.is_string() || !each.as_string()->starts_with(own)) rules.push_back(each);
  }
  const bool had_some = list != nullptr && rules.as_array()->size() < list->size();
  if (added.empty() && !had_some) co_return Result<>{};
  for (std::string& each : added) rules.push_back(std::move(each));
  const Result<std::string> stored =
      co_await services.settings->put(caller, std::string(kLimits), std::move(rules));
  if (!stored) co_return fail(stored.error());
  if (!stored->empty() && !added.empty())
    co_return fail(Code::kConflict, "the key's limit would not count: {}", *stored);
  co_return Result<>{};
}

std::vector<std::string> limits_of(const std::string& key, const Value& args) {
  std::vector<std::string> rules;
  for (const auto& [field, window] : {std::pair{"day_cents", "day"}, std::pair{"month_cents", "month"}}) {
    if (args.find(field) != nullptr)
      rules.push_back(fmt::format("key:{} {} {}", key, window, args.int_or(field, 0)));
  }
  return rules;
}

// "chela_<id>_<secret>"
std::string id_in(const std::string& token) {
  const size_t begin = token.find('_') + 1;
  return token.substr(begin, token.find('_', begin) - begin);
}

// The models that the new token may use. Nobody gives away more than they may use themselves.
Result<> add_models(const op::Principal& giver, const Value* wanted,
                    std::set<std::string, std::less<>>& permissions) {
  const std::vector<std::string> own = model_patterns(giver);
  std::vector<std::string> patterns;
  if (wanted != nullptr) {
    for (const Value& each : *wanted->as_array()) patterns.push_back(*each.as_string());
  }
  if (patterns.empty()) patterns = own;
  for (const std::string& pattern : patterns) {
    if (pattern.find_first_of(" ,\t\r\n") != std::string::npos || pattern.find('*') < pattern.size() - 1)
      return fail(Code::kInvalidArgument,
                  "models: '{}' is no name of a model; a '*' may stand at its end for all that begin so",
                  pattern);
    // A name that ends in '*' is covered by a shorter beginning only.
    if (!own.empty() && !covers(own, {pattern}))
      return fail(Code::kPermissionDenied, "you may not give away the model '{}'", pattern);
    permissions.insert(fmt::format("{}{}", kModelPermission, pattern));
  }
  return {};
}

Value token_view(const security::TokenInfo& token) {
  Value view = Value::object({{"id", token.id},
                              {"label", token.label},
                              {"user", token.principal.user},
                              {"permissions", permissions_view(token.principal)},
                              {"created_at", format_rfc3339(token.created_at)}});
  if (const Value models = models_view(token.principal); !models.as_array()->empty())
    view.set("models", models);
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
    if (name.starts_with(kModelPermission))
      return fail(Code::kInvalidArgument, "{}: name models in 'models'", name);
    if (!giver.allows(name)) return fail(Code::kPermissionDenied, "you may not give the permission {}", name);
    permissions.insert(name);
  }
  return permissions;
}

Task<Result<Value>> create(const Services& services, Changing changing, CallContext context, Value args) {
  Result<std::set<std::string, std::less<>>> permissions =
      granted(context.principal, services.tools->groups(), *args.find("permissions"));
  if (!permissions) co_return fail(permissions.error());
  if (Result<> good = add_models(context.principal, args.find("models"), *permissions); !good)
    co_return fail(std::move(good.error()));
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
  Value models = models_view(principal);
  const Result<std::string> text =
      co_await services.tokens->create(std::move(principal), args.string_or("label"));
  if (!text) co_return fail(text.error());
  const std::string id = id_in(*text);
  if (const std::vector<std::string> limits = limits_of(id, args); !limits.empty()) {
    if (Result<> limited = co_await limit_key(services, changing, context.principal, id, limits); !limited) {
      (void)co_await limit_key(services, changing, context.principal, id, {});
      (void)co_await services.tokens->revoke(context.scope, id);
      co_return fail(std::move(limited.error()));
    }
  }
  co_return Value::object({{"token", *text},
                           {"id", id},
                           {"label", args.string_or("label")},
                           {"permissions", std::move(shown)},
                           {"models", std::move(models)}});
}

Task<Result<Value>> list(const Services& services, CallContext context, Value) {
  const Result<std::vector<security::TokenInfo>> found = co_await services.tokens->list(context.scope);
  if (!found) co_return fail(found.error());
  Value tokens = Value::array();
  for (const security::TokenInfo& each : *found) tokens.push_back(token_view(each));
  co_return Value::object({{"tokens", std::move(tokens)}});
}

Task<Result<Value>> revoke(const Services& services, Changing changing, CallContext context, Value args) {
  const std::string id = args.string_or("id");
  if (Result<> revoked = co_await services.tokens->revoke(context.scope, id); !revoked)
    co_return fail(revoked.error());
  if (services.settings != nullptr) {
    if (Result<> forgotten = co_await limit_key(services, changing, context.principal, id, {}); !forgotten)
      co_return fail(std::move(forgotten.error()));
  }
  co_return Value::object({{"id", id}, {"status", "revoked"}});
}

}  // namespace

Result<> add_tokens(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  // Null where only declarations are needed.
  const Changing changing =
      services.loop != nullptr ? std::make_shared<runtime::Mutex>(*services.loop) : Changing();
  op::Operation creating{
      .id = "token::create",
      .help = "Makes a token that acts for you with the permissions named. Its text is shown this once.",
      .in = schema(R"({"type": "object", "properties": {
        "label": {"type": "string", "maxLength": 200, "default": ""},
        "permissions": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 100}, "minItems": 1,
          "maxItems": 100, "default": ["chat:*", "memory:*", "tools:*"]},
        "models": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 256}, "maxItems": 100,
          "description": "the models and agents that it may use: names, or beginnings with a '*' at the end; else all"},
        "day_cents": {"type": "integer", "minimum": 0, "maximum": 1000000000, "description": "what its calls of models may cost a day"},
        "month_cents": {"type": "integer", "minimum": 0, "maximum": 1000000000, "description": "what they may cost a month"},
        "expires_in": {"type": "string", "description": "a duration: 12h, 30d; else it does not expire"}}})"),
      .out =
          schema(R"({"type": "object", "properties": {"token": {"type": "string"}, "id": {"type": "string"},
        "label": {"type": "string"}, "permissions": {"type": "array"}, "models": {"type": "array"}}})"),
      .permission = "admin",
      .routes = {route("POST", "/api/tokens", 201)},
      .handler = [s, changing](CallContext c, Value a) {
        return create(*s, changing, std::move(c), std::move(a));
      }};
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
      .handler = [s, changing](CallContext c, Value a) {
        return revoke(*s, changing, std::move(c), std::move(a));
      }};
  return add_all(registry, {creating, listing, revoking});
}

}  // namespace chela::api
