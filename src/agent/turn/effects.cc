#include "agent/turn/state.h"

// What a state asks for, and what can be asked of a state.
namespace chela::agent::turn {
namespace {

constexpr double kCompactAt = 0.8;  // of the model's context
constexpr double kCompactTo = 0.6;

std::vector<Effect> model_effects(const State& state) {
  const auto context = static_cast<double>(state.start.context_tokens);
  const std::int64_t tokens = state.start.prompt_tokens + state.conversation.tokens();
  if (!state.requested && context > 0 && static_cast<double>(tokens) > context * kCompactAt) {
    const auto plan =
        plan_compaction(state.conversation, state.start.number,
                        static_cast<std::int64_t>(context * kCompactTo), state.start.prompt_tokens);
    if (plan) return {Compact{*plan}};
  }
  return {CallModel{state.iteration}};
}

std::vector<Effect> tool_effects(const State& state) {
  std::vector<llm::ToolCall> requested;
  std::vector<tools::PreparedCall> runnable;
  std::vector<llm::ToolCall> with_client;
  const Call* asked = nullptr;
  const Call* credential = nullptr;
  const Call* to_ask = nullptr;
  bool started = false;
  for (const Call& call : state.batch) {
    switch (call.status) {
      case CallStatus::kRequested:
        requested.push_back(call.request);
        break;
      case CallStatus::kRunnable:
        runnable.push_back(call.prepared);
        break;
      case CallStatus::kStarted:
        started = true;
        break;
      case CallStatus::kNeedsApproval:
        if (to_ask == nullptr) to_ask = &call;
        break;
      case CallStatus::kAsked:
        asked = &call;
        break;
      case CallStatus::kNeedsCredential:
        if (credential == nullptr) credential = &call;
        break;
      case CallStatus::kWithClient:
        with_client.push_back(call.request);
        break;
      case CallStatus::kDone:
        break;
    }
  }
  if (!requested.empty()) return {PrepareCalls{std::move(requested)}};
  if (!runnable.empty()) return {RunCalls{std::move(runnable)}};
  if (started) return {};
  if (credential != nullptr)
    return {AwaitCredential{credential->credential.request_id, credential->credential.expires_at}};
  if (asked != nullptr) return {AwaitAnswer{asked->request_id}};
  if (to_ask != nullptr) return {Ask{to_ask->prepared}};
  return {AwaitClient{std::move(with_client)}};
}

}  // namespace

std::vector<Effect> effects(const State& state) {
  switch (state.phase) {
    case Phase::kIdle:
      return {};
    case Phase::kModel:
      return model_effects(state);
    case Phase::kTools:
      return tool_effects(state);
    case Phase::kFinishing:
      return {Finish{}};
    case Phase::kFailing:
      return {Fail{*state.error}};
  }
  return {};
}

std::vector<tools::PreparedCall> unfinished(const State& state) {
  std::vector<tools::PreparedCall> calls;
  for (const Call& call : state.batch) {
    if (call.status == CallStatus::kStarted) calls.push_back(call.prepared);
  }
  return calls;
}

const Call* pending_approval(const State& state) {
  if (state.phase != Phase::kTools) return nullptr;
  for (const Call& call : state.batch) {
    if (call.status == CallStatus::kAsked) return &call;
  }
  return nullptr;
}

const CredentialAsked* pending_credential(const State& state) {
  if (state.phase != Phase::kTools) return nullptr;
  for (const Call& call : state.batch) {
    if (call.status == CallStatus::kNeedsCredential) return &call.credential;
  }
  return nullptr;
}

bool tools_are_off(const State& state) {
  return state.final_answer || state.start.tool_choice == llm::ToolChoice::kNone;
}

std::string message_of(const Input& input) {
  if (const auto* started = std::get_if<TurnStarted>(&input)) return started->message_id;
  if (const auto* steered = std::get_if<Steered>(&input)) return steered->message_id;
  if (const auto* answered = std::get_if<Answered>(&input)) return answered->message_id;
  if (const auto* finished = std::get_if<ToolFinished>(&input)) return finished->message_id;
  return {};
}

bool awaits_client(const State& state) {
  const std::vector<Effect> next = effects(state);
  return !next.empty() && std::holds_alternative<AwaitClient>(next.front());
}

std::string effect_name(const Effect& effect) {
  static constexpr std::string_view kNames[] = {"CallModel",   "PrepareCalls",   "RunCalls", "Ask",
                                                "AwaitAnswer", "AwaitClient",    "Compact",  "Finish",
                                                "Fail",        "AwaitCredential"};
  return std::string(kNames[effect.index()]);
}

}  // namespace chela::agent::turn
