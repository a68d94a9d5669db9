#include <algorithm>

#include "api/operations.h"
#include "api/schema_text.h"
#include "api/views.h"
#include "llm/budget/budget.h"
#include "llm/budget/budget_view.h"

// What was used, what it has cost, and what is left.
namespace chela::api {
namespace {

using json::Value;
using op::CallContext;

// What belongs to one day, model or agent.
struct Group {
  std::string name;
  std::int64_t calls = 0;
  std::int64_t priced = 0;
  llm::budget::Nano cost = 0;
  llm::Usage tokens = {};
};

std::vector<Group> grouped(const std::vector<store::BudgetUsage>& used, const std::string& by,
                           llm::budget::Budget& budget) {
  std::vector<Group> groups;
  for (const store::BudgetUsage& each : used) {
    std::string name = by == "model" ? each.model : by == "agent" ? each.agent : budget.date(each.at);
    if (name.empty()) name = "(none)";
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.name == name; });
    if (group == groups.end()) {
      groups.push_back({.name = std::move(name)});
      group = groups.end() - 1;
    }
    group->calls += each.calls;
    group->priced += each.priced;
    group->cost = llm::budget::add(group->cost, each.cost);
    group->tokens.input_tokens += each.input_tokens;
    group->tokens.output_tokens += each.output_tokens;
    group->tokens.cached_tokens += each.cached_tokens;
  }
  // Days as they came, the others by what they have cost.
  if (by != "day")
    std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
      return a.cost != b.cost ? a.cost > b.cost : a.name < b.name;
    });
  return groups;
}

Value view_of(const Group& group) {
  Value view = usage_view(group.tokens);
  view.set("name", group.name);
  view.set("calls", group.calls);
  if (group.priced > 0) view.set("cost", llm::budget::to_dollars(group.cost));
  if (group.priced < group.calls) view.set("unpriced_calls", group.calls - group.priced);
  return view;
}

Task<Result<>> add_costs(const Services& services, const CallContext& context, const Value& args,
                         Value& out) {
  const std::string by = args.string_or("by", "day");
  const auto used = co_await services.budget->usage(context.scope, static_cast<int>(args.int_or("days", 30)));
  if (!used) co_return fail(used.error());
  Value groups = Value::array();
  for (const Group& each : grouped(*used, by, *services.budget)) groups.push_back(view_of(each));
  // Another key's limits are for whoever may make keys.
  const std::string key = args.string_or("key", context.principal.token_id);
  if (key != context.principal.token_id && !context.principal.allows("admin"))
    co_return fail(Code::kPermissionDenied, "the limits of another key are shown to administrators only");
  const auto standing = co_await services.budget->standing({.realm = context.scope.realm,
                                                            .user = context.scope.user,
                                                            .agent = args.string_or("agent"),
                                                            .session = args.string_or("thread_id"),
                                                            .channel = args.string_or("channel"),
                                                            .key = key});
  if (!standing) co_return fail(standing.error());
  Value limits = Value::array();
  for (const llm::budget::Standing& each : *standing) limits.push_back(llm::budget::view_of(each));
  out.set("by", by);
  out.set("groups", std::move(groups));
  out.set("limits", std::move(limits));
  out.set("timezone", services.budget->zone());
  co_return Result<>{};
}

std::optional<double> price_of(const Services& services, const agent::ModelUsage& used) {
  const std::optional<llm::Price> price = services.price(used.model);
  if (!price) return std::nullopt;
  return llm::cost_of(used.tokens, *price);
}

Task<Result<Value>> usage(const Services& services, CallContext context, Value args) {
  const Result<std::vector<agent::DayUsage>> found =
      co_await services.engine->usage(context.scope, static_cast<int>(args.int_or("days", 30)));
  if (!found) co_return fail(found.error());
  Value days = Value::array();
  for (const agent::DayUsage& each : *found) {
    Value day = usage_view(each.sum.tokens);
    day.set("date", format_rfc3339(each.day).substr(0, 10));
    day.set("model", each.sum.model);
    day.set("turns", each.sum.turns);
    if (const std::optional<double> cost = price_of(services, each.sum)) day.set("cost", *cost);
    days.push_back(std::move(day));
  }
  Value out = Value::object({{"days", std::move(days)}});
  if (services.budget != nullptr) {
    if (const Result<> added = co_await add_costs(services, context, args, out); !added)
      co_return fail(added.error());
  }
  co_return out;
}

}  // namespace

Result<> add_usage(op::Registry& registry, const Services& services) {
  const Services* s = &services;
  op::Operation using_up{
      .id = "usage::days",
      .help =
          "What the caller has used: turns by day (UTC) and model, today last; calls of models with what "
          "they have cost, by day, model or agent; and how the limits stand.",
      .in = schema(R"({"type": "object", "properties": {
        "days": {"type": "integer", "minimum": 1, "maximum": 366, "default": 30},
        "by": {"type": "string", "enum": ["day", "model", "agent"], "default": "day"},
        "agent": {"type": "string", "description": "show the limits of this agent, too"},
        "thread_id": {"type": "string", "description": "of this thread"},
        "channel": {"type": "string", "description": "of this channel"},
        "key": {"type": "string", "description": "of the token with this id, instead of the caller's own"}}})"),
      .out = schema(
          R"({"type": "object", "properties": {"days": {"type": "array", "items": {"type": "object", "properties": {
        "date": {"type": "string"}, "model": {"type": "string"}, "turns": {"type": "integer"}, "prompt_tokens": {"type": "integer"},
        "completion_tokens": {"type": "integer"}, "cached_tokens": {"type": "integer"},
        "cost": {"type": "number", "description": "US dollars, by the prices of now; left out when the model's price is not known"}}}},
        "by": {"type": "string"}, "timezone": {"type": "string", "description": "whose days groups and limits count"},
        "groups": {"type": "array", "items": {"type": "object", "properties": {
          "name": {"type": "string"}, "calls": {"type": "integer"}, "prompt_tokens": {"type": "integer"},
          "completion_tokens": {"type": "integer"}, "cached_tokens": {"type": "integer"},
          "cost": {"type": "number", "description": "US dollars, by the prices of then; left out when none is known"},
          "unpriced_calls": {"type": "integer", "description": "that are in no cost"}}}},
        "limits": {"type": "array", "items": {"type": "object", "properties": {
          "limit": {"type": "string"}, "window": {"type": "string", "enum": ["hour", "day", "month"]},
          "unit": {"type": "string", "enum": ["usd", "calls"]}, "hard": {"type": "boolean"}, "amount": {"type": "number"},
          "spent": {"type": "number"}, "reserved": {"type": "number", "description": "for calls that run"},
          "left": {"type": "number"}, "resets_at": {"type": "string"}}}}}})"),
      .permission = "chat:read",
      .routes = {route("GET", "/api/usage")},
      .idempotent = op::Idempotent::kYes,
      .handler = [s](CallContext c, Value a) { return usage(*s, std::move(c), std::move(a)); }};
  return add_all(registry, {using_up});
}

}  // namespace chela::api
