#include "llm/routing/router.h"

#include <fmt/format.h>
#include <array>

#include "llm/routing/decide.h"

namespace chela::llm::routing {

std::string_view use_name(Plan::Use use) {
  constexpr std::array<std::string_view, 3> kNames{"primary", "cheap", "cheap_on_trial"};
  return kNames[static_cast<std::size_t>(use)];
}

std::string_view asked_text(const Request& request) {
  for (auto message = request.messages.rbegin(); message != request.messages.rend(); ++message) {
    if (message->role == Role::kUser) return message->content;
  }
  return {};
}

Plan plan_for(const Request& request, const Rules& rules) {
  Plan plan{.model = request.model, .decision = decide(asked_text(request), rules.method)};
  const auto settle = [&plan, &rules](Plan::Use use, std::string_view why) {
    plan.use = use;
    if (use != Plan::Use::kPrimary) plan.model = rules.cheap_model;
    plan.reason = std::string(why);
    if (!plan.decision.reason.empty())
      plan.reason += fmt::format("{}{}: {}", why.empty() ? "" : ", ", tier_name(plan.decision.tier),
                                 plan.decision.reason);
    return plan;
  };
  if (rules.cheap_model.empty()) return settle(Plan::Use::kPrimary, "no cheap model is configured");
  const bool hinted = plan.decision.by == Decision::By::kHint;
  const bool simple = plan.decision.complexity == Complexity::kSimple;
  if (!request.tools.empty() && !(hinted && simple))
    return settle(Plan::Use::kPrimary, "a request with tools");
  if (simple) return settle(Plan::Use::kCheap, "");
  const bool moderate = plan.decision.complexity == Complexity::kModerate;
  if (moderate && rules.cascade && !hinted) return settle(Plan::Use::kCheapOnTrial, "");
  if (moderate && !hinted) return settle(Plan::Use::kCheap, "");
  return settle(Plan::Use::kPrimary, "");
}

}  // namespace chela::llm::routing
