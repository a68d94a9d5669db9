#include "llm/routing/routing_provider.h"

#include <fmt/format.h>

#include "llm/routing/trial.h"
#include "obs/log.h"
#include "runtime/stop_scope.h"

namespace chela::llm::routing {
namespace {

constexpr std::string_view kMetric = "chela_model_routing_total";
constexpr std::string_view kHelp =
    "Model calls that smart routing decided about: answered by the cheap model, asked of the default one, "
    "asked of "
    "it after the cheap one.";

// Whether the default model may do better than the one that failed so.
bool may_escalate(const Error& error) {
  return error.code != Code::kCancelled && error.code != Code::kBudgetExceeded;
}

bool has_images(const Request& request) {
  for (const Message& message : request.messages) {
    if (!message.images.empty()) return true;
  }
  return false;
}

}  // namespace

RoutingProvider::RoutingProvider(Parts parts)
    : parts_(std::move(parts)),
      cheap_(parts_.metrics.counter(kMetric, kHelp, {{"answered_by", "cheap"}})),
      primary_(parts_.metrics.counter(kMetric, kHelp, {{"answered_by", "primary"}})),
      escalations_(parts_.metrics.counter(kMetric, kHelp, {{"answered_by", "escalated"}})) {}

RoutingStats RoutingProvider::stats() const {
  RoutingStats out{.cheap = cheap_.value(), .primary = primary_.value(), .escalations = escalations_.value()};
  out.total = out.cheap + out.primary + out.escalations;
  return out;
}

Plan RoutingProvider::plan(const Request& request) const {
  Plan plan = plan_for(request, parts_.rules());
  if (plan.use != Plan::Use::kPrimary && has_images(request) && !parts_.sees_images(plan.model)) {
    plan.use = Plan::Use::kPrimary;
    plan.reason = fmt::format("{} sees no images", plan.model);
    plan.model = request.model;
  }
  return plan;
}

Task<Plan> RoutingProvider::choose(const Request& request, std::stop_token stop) {
  if (parts_.elsewhere) {
    std::optional<std::string> model = co_await parts_.elsewhere(request, std::move(stop));
    if (model) {
      const bool same = *model == request.model;
      co_return Plan{.use = same ? Plan::Use::kPrimary : Plan::Use::kCheap,
                     .model = std::move(*model),
                     .reason = "llm::route of a worker"};
    }
  }
  if (parts_.rules().cheap_model.empty()) co_return Plan{.model = request.model};
  co_return plan(request);
}

// Nothing is told while there is nothing to choose.
void RoutingProvider::tell(const Request& request, const Plan& plan) const {
  if (!request.caller.chosen) return;
  json::Value choice = json::Value::object({{"provider", parts_.provider_id(plan.model)},
                                            {"model", plan.model},
                                            {"reason", plan.reason},
                                            {"route", use_name(plan.use)}});
  if (!plan.decision.reason.empty()) {
    choice.set("tier", tier_name(plan.decision.tier));
    choice.set("score", plan.decision.score.total);
  }
  request.caller.chosen(choice);
}

Task<Result<Answer>> RoutingProvider::complete(Request request, DeltaSink sink,
                                               std::optional<SteadyTime> deadline, std::stop_token stop) {
  if (parts_.rules().cheap_model.empty() && !parts_.elsewhere) {
    Provider& only = parts_.named(request.model);
    co_return co_await only.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  }
  Plan plan = co_await choose(request, stop);
  if (stop.stop_requested()) co_return fail(Code::kCancelled, "the model call was cancelled");
  if (plan.use != Plan::Use::kPrimary)
    co_return co_await ask_cheap(std::move(request), std::move(sink), deadline, std::move(stop),
                                 std::move(plan));
  if (!parts_.rules().cheap_model.empty()) {
    primary_.add();
    tell(request, plan);
  }
  Provider& primary = parts_.named(request.model);
  co_return co_await primary.complete(std::move(request), std::move(sink), deadline, std::move(stop));
}

Task<Result<Answer>> RoutingProvider::ask_cheap(Request request, DeltaSink sink,
                                                std::optional<SteadyTime> deadline, std::stop_token stop,
                                                Plan plan) {
  tell(request, plan);
  const bool on_trial = plan.use == Plan::Use::kCheapOnTrial;
  runtime::StopScope call(parts_.loop, stop);
  bool passed_on = false;
  Trial trial([&sink, &passed_on](const Delta& delta) {
    passed_on = true;
    if (sink) sink(delta);
  });
  const DeltaSink through = [&](const Delta& delta) {
    if (!on_trial) {
      passed_on = true;
      if (sink) sink(delta);
    } else if (trial.feed(delta) == Trial::State::kFailed) {
      call.cancel();  // the rest of it is not worth its price
    }
  };
  Request cheap = request;
  cheap.model = plan.model;
  Result<Answer> answer =
      co_await parts_.named(plan.model).complete(std::move(cheap), through, deadline, call.token());
  // A caller that stops because nothing can be taken back gets the failure that led to it.
  if (stop.stop_requested() && !answer) co_return answer;
  if (stop.stop_requested()) co_return fail(Code::kCancelled, "the model call was cancelled");
  if (on_trial && answer) trial.finish(*answer);
  const bool refused = on_trial && trial.state() == Trial::State::kFailed;
  const bool failed = !refused && !answer;
  if (!refused && (!failed || passed_on || !may_escalate(answer.error()))) {
    if (answer) cheap_.add();
    co_return answer;
  }
  if (failed)
    log::warn("llm", "the cheap model failed; the default one is asked",
              {{"model", plan.model}, {"error", answer.error().message}});
  const std::string why = failed ? fmt::format("failed: {}", answer.error().message)
                                 : "gave an answer that is empty or uncertain";
  escalations_.add();
  tell(request,
       {.use = Plan::Use::kPrimary, .model = request.model, .reason = fmt::format("{} {}", plan.model, why)});
  Provider& primary = parts_.named(request.model);
  co_return co_await primary.complete(std::move(request), std::move(sink), deadline, std::move(stop));
}

Task<Result<std::vector<std::string>>> RoutingProvider::models(std::stop_token stop) {
  return parts_.named("").models(std::move(stop));
}

}  // namespace chela::llm::routing
