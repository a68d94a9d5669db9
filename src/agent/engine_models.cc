#include <algorithm>

#include "agent/engine_impl.h"
#include "agent/event_mapping.h"
#include "base/ids.h"
#include "base/strings.h"
#include "runtime/stop_scope.h"

// Which model a user's turns use. What they chose is a setting of theirs, one for each agent.
namespace chela::agent {
namespace {

std::string scope_key(const Scope& scope) { return scope.realm + '\0' + scope.user + '\0' + scope.agent; }
std::string model_key(const Scope& scope) { return fmt::format("model:{}", scope.agent); }

}  // namespace

// On whose account the thread's turn calls models, and where it is said when that becomes much.
llm::Caller EngineImpl::caller_of(const ThreadPtr& thread) {
  const turn::TurnStarted& start = thread->state.start;
  const auto warn = [this, scope = thread->row.scope, id = thread->row.id,
                     turn = start.turn](const json::Value& warning) {
    json::Value data = event_data("budget_warning", id, turn);
    if (const json::Object* fields = warning.as_object()) {
      for (const json::Member& each : *fields) data.set(each.key, each.value);
    }
    hub_.announce(scope, id, {"budget_warning", std::move(data)});
  };
  return {.scope = thread->row.scope,
          .thread = thread->row.id,
          .channel = start.channel.empty() ? thread->row.channel : start.channel,
          .key = start.client_key,
          .warn = warn};
}

// As caller_of, for a call whose choices of a model are kept: they are told at once, and stand in the record of its answer.
llm::Caller EngineImpl::caller_of(const ThreadPtr& thread, std::shared_ptr<json::Array> choices) {
  llm::Caller caller = caller_of(thread);
  caller.chosen = [this, scope = thread->row.scope, id = thread->row.id, turn = thread->state.start.turn,
                   choices = std::move(choices)](const json::Value& choice) {
    choices->push_back(choice);
    json::Value data = event_data("model_chosen", id, turn);
    if (const json::Object* fields = choice.as_object()) {
      for (const json::Member& each : *fields) data.set(each.key, each.value);
    }
    hub_.announce(scope, id, {"model_chosen", std::move(data)});
  };
  return caller;
}

// The agent as this user has it.
Task<Result<AgentSpec>> EngineImpl::spec_for(Scope scope) {
  scope = normalised(std::move(scope));
  Result<AgentSpec> spec = spec_of(scope.agent);
  if (!spec) co_return spec;
  const std::string key = scope_key(scope);
  std::string chosen;
  if (const auto known = chosen_models_.find(key); known != chosen_models_.end()) {
    chosen = known->second;
  } else {
    const std::uint64_t changes = model_changes_;
    const auto stored = co_await d_.settings_store.get(scope, model_key(scope));
    if (!stored) co_return fail(stored.error());
    const Result<json::Value> name = json::parse(stored->value_or("\"\""));
    if (name && name->as_string() != nullptr) chosen = *name->as_string();
    // What was read while somebody chose may be what they had before.
    if (changes == model_changes_) remember_model(key, chosen);
  }
  if (const auto known = chosen_models_.find(key); known != chosen_models_.end()) chosen = known->second;
  if (!chosen.empty()) spec->model = chosen;
  co_return spec;
}

void EngineImpl::remember_model(const std::string& key, std::string model) {
  if (chosen_models_.size() >= d_.settings.max_loaded_threads && !chosen_models_.contains(key))
    chosen_models_.clear();
  chosen_models_[key] = std::move(model);
}

Task<Result<ModelChoice>> EngineImpl::model_for(Scope scope) {
  const Result<AgentSpec> spec = co_await spec_for(std::move(scope));
  if (!spec) co_return fail(spec.error());
  co_return d_.choose_model(*spec);
}

Task<Result<std::string>> EngineImpl::model(Scope scope) {
  const Result<ModelChoice> choice = co_await model_for(std::move(scope));
  if (!choice) co_return fail(choice.error());
  co_return choice->model;
}

Task<Result<>> EngineImpl::use_model(Scope scope, std::string model) {
  scope = normalised(std::move(scope));
  Result<AgentSpec> spec = spec_of(scope.agent);
  if (!spec) co_return fail(spec.error());
  const std::string key = scope_key(scope);
  if (model.empty()) {
    const Result<bool> removed = co_await d_.settings_store.remove(scope, model_key(scope));
    if (!removed) co_return fail(removed.error());
    ++model_changes_;
    remember_model(key, "");
    co_return Result<>{};
  }
  if (!is_foreign_id(model) || model.find(' ') != std::string::npos)
    co_return fail(Code::kInvalidArgument, "a model's name has at most {} bytes and no spaces",
                   kMaxForeignIdBytes);
  spec->model = model;
  if (const Result<ModelChoice> usable = d_.choose_model(*spec); !usable) co_return fail(usable.error());
  const Result<> set =
      co_await d_.settings_store.set(scope, model_key(scope), json::write(model), d_.loop.clock().now());
  if (!set) co_return set;
  ++model_changes_;
  remember_model(key, std::move(model));
  co_return set;
}

Task<Result<std::vector<std::string>>> EngineImpl::listed_models(llm::Provider* provider) {
  const runtime::StopScope scope(d_.loop, leaving_.get_token(), d_.loop.clock().steady() + kModelListTimeout);
  co_return co_await provider->models(scope.token());
}

// /model and /model NAME.
Task<Result<std::string>> EngineImpl::model_command(ThreadPtr thread, std::string name) {
  const Scope scope = thread->row.scope;
  if (strings::iequals(name, "default")) {
    const Result<> reset = co_await use_model(scope, "");
    if (!reset) co_return fail(reset.error());
    const Result<std::string> active = co_await model(scope);
    if (!active) co_return fail(active.error());
    co_return fmt::format("Back to the configured model, {}, from the next turn on.", *active);
  }
  if (!name.empty()) {
    const Result<> used = co_await use_model(scope, name);
    if (!used && used.error().code == Code::kInvalidArgument) co_return "Error: " + used.error().message;
    if (!used) co_return fail(used.error());
  }
  const Result<ModelChoice> active = co_await model_for(scope);
  if (!active) co_return fail(active.error());
  const Result<std::vector<std::string>> listed = co_await listed_models(active->provider);
  if (!name.empty()) {
    std::string reply = fmt::format("Model {} from the next turn on.", name);
    if (!listed) {
      reply += fmt::format(" Whether there is one could not be asked: {}", listed.error().message);
    } else if (std::find(listed->begin(), listed->end(), name) == listed->end()) {
      reply += " The backend does not list it; the name is sent as it is. /model lists those it has.";
    }
    co_return reply;
  }
  std::string reply = fmt::format("Active: {}", active->model);
  if (!listed) co_return fmt::format("{}\nThe others are not known: {}", reply, listed.error().message);
  reply += "\nAvailable:";
  for (size_t i = 0; i < std::min(listed->size(), kMaxListedModels); ++i) reply += "\n  " + (*listed)[i];
  if (listed->size() > kMaxListedModels)
    reply += fmt::format("\n  and {} more", listed->size() - kMaxListedModels);
  co_return reply;
}

}  // namespace chela::agent
