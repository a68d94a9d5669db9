#include "agent/dependencies.h"
#include "api/operations.h"
#include "api/schema_text.h"
#include "llm/backends/backends.h"
#include "llm/routing/routing_provider.h"

namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

// Longest answers, by how much a message asks for.
constexpr std::int64_t kSimpleTokens = 2048;
constexpr std::int64_t kModerateTokens = 4096;
constexpr std::int64_t kComplexTokens = 8192;

std::int64_t tokens_for(llm::routing::Complexity complexity) {
  if (complexity == llm::routing::Complexity::kSimple) return kSimpleTokens;
  return complexity == llm::routing::Complexity::kModerate ? kModerateTokens : kComplexTokens;
}

Value chosen(const Services& services, const std::string& name, std::int64_t max_tokens) {
  const llm::ResolvedModel model = services.backends->resolve(name);
  const std::int64_t most = model.info.max_output_tokens;
  return Value::object({{"provider", model.provider},
                        {"model", model.sent_as},
                        {"maxTokens", most > 0 ? std::min(most, max_tokens) : max_tokens},
                        {"usable", model.usable}});
}

// The last text of a list of messages, or `message` itself.
std::string text_of(const Value& args) {
  if (const std::string text = args.string_or("message"); !text.empty()) return text;
  const Value* messages = args.find("messages");
  const json::Array* list = messages != nullptr ? messages->as_array() : nullptr;
  return list == nullptr || list->empty() ? std::string() : list->back().string_or("content");
}

llm::Request request_of(const Services& services, const Value& args) {
  llm::Request request{.model = services.backends->default_model(), .messages = {{.content = text_of(args)}}};
  const Value* tools = args.find("tools");
  const bool listed = tools != nullptr && tools->as_array() != nullptr && !tools->as_array()->empty();
  // How many there are changes nothing.
  if (listed || args.int_or("toolCount", 0) > 0)
    request.tools.push_back({.name = "any", .description = "", .parameters = Value::object()});
  return request;
}

// AgentOS's router, with this engine's models: what a call would ask that names none.
Value routed(const Services& services, const Value& args) {
  using llm::routing::Complexity;
  const Value* config = args.find("config");
  const Value& wanted = config != nullptr && config->is_object() ? *config : args;
  const llm::Request request = request_of(services, args);
  const llm::routing::Plan plan = services.routing->plan(request);
  Value detail =
      llm::routing::to_json(plan.decision, args.bool_or("detail", false) ? llm::routing::Detail::kDimensions
                                                                         : llm::routing::Detail::kShort);
  std::string name = plan.model;
  std::string reason = plan.reason;
  std::int64_t tokens = tokens_for(plan.decision.complexity);
  const std::string tier = args.string_or("agentTier");
  if (std::string model = wanted.string_or("model"); !model.empty()) {
    const std::string provider = wanted.string_or("provider");
    name = provider.empty() || model.starts_with(provider + "/") ? model : provider + "/" + model;
    reason = "the model was named";
    tokens = wanted.int_or("maxTokens", kModerateTokens);
  } else if (tier == "economy") {
    const std::string cheap = services.routing->cheap_model();
    if (!cheap.empty()) name = cheap;
    reason = "the agent's tier is economy";
    tokens = kSimpleTokens;
  } else if (tier == "premium") {
    name = request.model;
    reason = "the agent's tier is premium";
  }
  Value out = chosen(services, name, tokens);
  out.set("complexity", plan.decision.score.total);
  out.set("reason", reason);
  out.set("level", llm::routing::complexity_name(plan.decision.complexity));
  out.set("route", llm::routing::use_name(plan.use));
  for (const std::string_view key : {"tier", "by", "score", "boost", "dimensions"}) {
    if (const Value* value = detail.find(key)) out.set(std::string(key), *value);
  }
  return out;
}

Task<Result<Value>> at_once(Value value) { co_return value; }

}  // namespace

Result<> add_routing(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation routing{.id = "llm::route",
                        .help = "Which model a message would be given to when nobody names one, and why.",
                        .in = schema(R"({"type": "object", "properties": {
        "message": {"type": "string", "description": "the person's message; else the last of messages"},
        "messages": {"type": "array", "items": {"type": "object"}},
        "tools": {"type": "array"},
        "toolCount": {"type": "integer", "minimum": 0},
        "model": {"type": "string", "maxLength": 256, "description": "wins over everything"},
        "config": {"type": "object", "properties": {"provider": {"type": "string", "maxLength": 64},
          "model": {"type": "string", "maxLength": 256}, "maxTokens": {"type": "integer", "minimum": 1}}},
        "agentTier": {"type": "string", "description": "economy, premium or any other word"},
        "detail": {"type": "boolean", "description": "with the score of each dimension"}}})"),
                        .out = schema(R"({"type": "object", "properties": {
        "provider": {"type": "string"}, "model": {"type": "string"}, "maxTokens": {"type": "integer"},
        "complexity": {"type": "integer"}, "reason": {"type": "string"}, "tier": {"type": "string"},
        "level": {"type": "string"}, "route": {"type": "string"}, "by": {"type": "string"}, "score": {"type": "integer"},
        "usable": {"type": "boolean"}, "boost": {"type": "integer"}, "dimensions": {"type": "array", "items": {"type": "object"}}}})"),
                        .permission = "chat:read",
                        .routes = {route("POST", "/api/models/route")},
                        .idempotent = op::Idempotent::kYes,
                        .handler = [s](CallContext, Value a) { return at_once(routed(*s, a)); }};
  return add_all(registry, {routing});
}

}  // namespace chela::api
