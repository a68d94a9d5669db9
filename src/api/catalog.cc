#include "agent/dependencies.h"
#include "api/key_models.h"
#include "api/operations.h"
#include "api/schema_text.h"
#include "api/settings_service.h"
#include "llm/backends/backends.h"
#include "runtime/stop_scope.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

constexpr std::int64_t kTestTokens = 16;

Value price_view(const llm::Price& price) {
  return Value::object({{"input", price.input},
                        {"output", price.output},
                        {"cached_input", price.cached_input},
                        {"cache_write", price.cache_write}});
}

Value flags_of(const llm::ModelInfo& info) {
  Value flags = Value::array();
  if (info.sees_images) flags.push_back("vision");
  if (info.tools == llm::ToolCalling::kNative && info.dimensions == 0) flags.push_back("tools");
  if (info.reasons) flags.push_back("reasoning");
  if (info.prefills) flags.push_back("prefill");
  if (info.dimensions > 0) flags.push_back("embeddings");
  return flags;
}

Value model_view(const llm::Backends& backends, const llm::ModelInfo& info) {
  const std::string name = info.full_id();
  const llm::ResolvedModel resolved = backends.resolve(name);
  Value aliases = Value::array();
  for (const auto& [alias, target] : backends.catalog().aliases()) {
    if (target == name) aliases.push_back(alias);
  }
  Value view = Value::object({{"id", name},
                              {"provider", info.provider},
                              {"sent_as", info.sent_as.empty() ? info.id : info.sent_as},
                              {"context_tokens", info.context_tokens},
                              {"max_output_tokens", info.max_output_tokens},
                              {"flags", flags_of(info)},
                              {"aliases", std::move(aliases)},
                              {"usable", resolved.provider == info.provider && resolved.usable}});
  if (info.price) view.set("price", price_view(*info.price));
  if (info.dimensions > 0) view.set("dimensions", info.dimensions);
  return view;
}

Value models(const llm::Backends& backends, const Value& args) {
  const std::string provider = args.string_or("provider");
  const llm::ProviderEntry* known = backends.providers().find(provider);
  const std::string wanted = known != nullptr ? known->id : provider;
  Value list = Value::array();
  for (const llm::ModelInfo& info : backends.catalog().models()) {
    if (info.is_pattern() || (!wanted.empty() && info.provider != wanted)) continue;
    list.push_back(model_view(backends, info));
  }
  return Value::object({{"models", std::move(list)}});
}

Value aliases(const llm::Backends& backends) {
  Value list = Value::array();
  for (const auto& [alias, target] : backends.catalog().aliases())
    list.push_back(Value::object({{"alias", alias}, {"model", target}}));
  return Value::object({{"aliases", std::move(list)}});
}

Value providers(const llm::Backends& backends) {
  Value list = Value::array();
  for (const llm::ProviderEntry& each : backends.providers().all()) {
    Value keys = Value::array();
    for (const std::string& name : each.key_env) keys.push_back(name);
    std::int64_t count = 0;
    for (const llm::ModelInfo& info : backends.catalog().models())
      count += info.provider == each.id && !info.is_pattern() ? 1 : 0;
    list.push_back(Value::object({{"id", each.id},
                                  {"name", each.name},
                                  {"protocol", llm::protocol_name(each.protocol)},
                                  {"base_url", each.base_url},
                                  {"key_env", std::move(keys)},
                                  {"usable", backends.usable(each)},
                                  {"backend", each.id == backends.backend_id()},
                                  {"models", count}}));
  }
  return Value::object({{"providers", std::move(list)}});
}

Value resolved_view(const llm::Backends& backends, const std::string& name) {
  const llm::ResolvedModel model = backends.resolve(name);
  return Value::object({{"model", model.info.id},
                        {"provider", model.provider},
                        {"sent_as", model.sent_as},
                        {"usable", model.usable},
                        {"context_tokens", model.info.context_tokens},
                        {"flags", flags_of(model.info)}});
}

// One tiny call: what it took, or why it failed.
Task<Result<Value>> test(const Services& services, CallContext context, Value args) {
  const std::string name = args.string_or("model");
  Value view = resolved_view(*services.backends, name);
  if (Result<> may = check_model(services, context.principal, view.string_or("model")); !may)
    co_return fail(std::move(may.error()));
  const SteadyTime began = services.loop->clock().steady();
  const runtime::StopScope limit(*services.loop, context.stop, began + kTestCallTimeout);
  llm::Request request{
      .model = view.string_or("model"),
      .messages = {{.content = "Answer with the word ok."}},
      .sampling = {.max_tokens = kTestTokens},
      .caller = {.scope = context.scope, .channel = "v1", .key = context.principal.token_id}};
  const Result<llm::Answer> answer =
      co_await services.provider_for(view.string_or("model"))
          .complete(std::move(request), [](const llm::Delta&) {}, std::nullopt, limit.token());
  if (!answer && context.stop.stop_requested()) co_return fail(answer.error());
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(services.loop->clock().steady() - began);
  view.set("ok", answer.has_value());
  view.set("latency_ms", took.count());
  if (answer) {
    view.set("answer", answer->text);
  } else {
    view.set("error", json::from_error(limit.timed_out() ? limit.reason("the test call") : answer.error()));
  }
  co_return view;
}

// The model that everybody's turns use from now on when they have chosen none.
Task<Result<Value>> use(const Services& services, CallContext context, Value args) {
  const std::string name = args.string_or("model");
  if (const Result<> good = services.backends->check(name); !good) co_return fail(good.error());
  const Result<std::string> stored = co_await services.settings->put(context.principal, "llm.model", name);
  if (!stored) co_return fail(stored.error());
  Value view = resolved_view(*services.backends, "");
  if (!stored->empty()) view.set("warning", *stored);
  co_return view;
}

Task<Result<Value>> at_once(Value value) { co_return value; }

}  // namespace

Result<> add_catalog(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  const auto one_model = [](bool required) {
    return schema(required ? R"({"type": "object", "required": ["model"], "properties": {
        "model": {"type": "string", "minLength": 1, "maxLength": 256, "description": "PROVIDER/MODEL, an id or an alias"}}})"
                           : R"({"type": "object", "properties": {
        "model": {"type": "string", "maxLength": 256, "description": "PROVIDER/MODEL, an id or an alias; without it the default one"}}})");
  };
  op::Operation listing{
      .id = "catalog::models",
      .help =
          "The models that are known, of all providers: what they cost and can, and whether they can be "
          "used.",
      .in = schema(R"({"type": "object", "properties": {"provider": {"type": "string", "maxLength": 64}}})"),
      .out = schema(
          R"({"type": "object", "properties": {"models": {"type": "array", "items": {"type": "object"}}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/models/catalog")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext, Value a) { return at_once(models(*s->backends, a)); }};
  op::Operation aliasing{
      .id = "catalog::aliases",
      .help = "Short names of models.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"aliases": {"type": "array", "items": {"type": "object"}}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/models/aliases")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext, Value) { return at_once(aliases(*s->backends)); }};
  op::Operation providing{
      .id = "catalog::providers",
      .help = "The providers of models, and whether there is a key for each.",
      .in = no_input(),
      .out = schema(
          R"({"type": "object", "properties": {"providers": {"type": "array", "items": {"type": "object"}}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/providers")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext, Value) { return at_once(providers(*s->backends)); }};
  op::Operation resolving{.id = "catalog::resolve",
                          .help = "Which provider a model's name leads to, and what it calls the model.",
                          .in = one_model(true),
                          .out = schema(R"({"type": "object"})"),
                          .permission = "chat:read",
                          .routes = {route("GET", "/api/models/resolve")},
                          .idempotent = op::Idempotent::kYes,
                          .handler = [s](CallContext, Value a) {
                            return at_once(resolved_view(*s->backends, a.string_or("model")));
                          }};
  op::Operation testing{
      .id = "model::test",
      .help = "One tiny call to a model: how long it takes, or what is wrong.",
      .in = one_model(false),
      .out = schema(R"({"type": "object"})"),
      .permission = "chat:write",
      .routes = {route("POST", "/api/models/test")},
      .handler = [s](CallContext c, Value a) { return test(*s, std::move(c), std::move(a)); }};
  op::Operation using_it{
      .id = "model::use",
      .help = "The model that is asked from now on when nobody has chosen one.",
      .in = one_model(true),
      .out = schema(R"({"type": "object"})"),
      .permission = "settings:write",
      .routes = {route("PUT", "/api/models/default")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return use(*s, std::move(c), std::move(a)); }};
  return add_all(registry, {listing, aliasing, providing, resolving, testing, using_it});
}

}  // namespace chela::api
