#include <algorithm>
#include <tuple>
#include <utility>

#include "agent/turn/notes.h"
#include "agent/turn/state.h"
#include "agent/turn/transcript.h"
#include "base/limits.h"
#include "crypto/hash.h"

namespace chela::agent::turn {
namespace {

constexpr double kCompactAt = 0.8;  // of the model's context
constexpr double kCompactTo = 0.6;

Call* find_call(State& state, std::string_view id) {
  for (Call& call : state.batch) {
    if (call.request.id == id) return &call;
  }
  return nullptr;
}

bool running(const State& state) { return state.phase != Phase::kIdle; }

void say(State& state, llm::Role role, std::string text) {
  state.conversation.append(state.start.number, {.role = role, .content = std::move(text)});
}

// Messages that came while the model or its tools worked are delivered before the next model call.
void deliver_steering(State& state) {
  for (std::string& text : state.steering) say(state, llm::Role::kUser, std::move(text));
  state.steering.clear();
}

// The last model call a turn may make is asked for the final answer, and gets no tools.
void force_final_answer(State& state, std::string_view note) {
  if (state.final_answer) return;
  state.final_answer = true;
  say(state, llm::Role::kSystem, std::string(note));
}

void enter_model(State& state) {
  state.phase = Phase::kModel;
  state.requested = false;
  deliver_steering(state);
  if (state.steps >= state.start.max_iterations - 1) force_final_answer(state, kLastStepNote);
}

void fail_turn(State& state, Error error) {
  state.phase = Phase::kFailing;
  state.error = std::move(error);
}

void end_turn(State& state) {
  state.phase = Phase::kIdle;
  state.requested = false;
  state.batch.clear();
  state.call_ids.clear();
  state.repeats.clear();
  state.steering.clear();
}

// Every announced call gets a result, or providers refuse the conversation.
void append_results(State& state) {
  for (const Call& call : state.batch) {
    state.conversation.append(state.start.number, {.role = llm::Role::kTool,
                                                   .content = call.result.text,
                                                   .tool_call_id = call.request.id,
                                                   .name = call.request.name});
  }
}

void close_open_calls(State& state) {
  if (state.phase != Phase::kTools) return;
  for (Call& call : state.batch) {
    if (call.status != CallStatus::kDone) call.result.text = kStoppedResult;
  }
  append_results(state);
}

void finish_batch(State& state) {
  if (!std::all_of(state.batch.begin(), state.batch.end(),
                   [](const Call& c) { return c.status == CallStatus::kDone; }))
    return;
  append_results(state);
  ++state.steps;
  const Call* repeated = nullptr;
  for (const Call& call : state.batch) {
    const std::string key =
        crypto::content_hash(call.request.name + '\0' + call.request.arguments + '\0' + call.result.text);
    if (++state.repeats[key] >= kMaxRepeatedCalls) repeated = &call;
  }
  if (repeated != nullptr)
    force_final_answer(state, repeated_call_note(repeated->request.name, kMaxRepeatedCalls));
  state.batch.clear();
  enter_model(state);
}

void add_visible(State& state, const std::string& text) {
  if (text.empty()) return;
  if (!state.visible.empty()) state.visible += "\n\n";
  state.visible += text;
}

// A hook may have changed the reply: what was said before stays, its end is the new one.
void replace_reply(State& state, std::string reply) {
  if (reply != state.reply && state.visible.ends_with(state.reply)) {
    state.visible.resize(state.visible.size() - state.reply.size());
    state.visible += reply;
  }
  state.reply = std::move(reply);
}

// Gives calls without an id, or with one already used, an id of their own.
void name_calls(State& state, std::vector<llm::ToolCall>& calls) {
  for (llm::ToolCall& call : calls) {
    for (size_t n = state.call_ids.size();
         call.id.empty() || call.id.size() > kMaxForeignIdBytes || state.call_ids.contains(call.id); ++n) {
      call.id = fmt::format("call_{}_{}", state.start.turn, n);
    }
    state.call_ids.insert(call.id);
  }
}

// Once the client's calls are all that is left of a batch, the client is told of them.
void offer_client_calls(State& state) {
  llm::Message for_client{.role = llm::Role::kAssistant, .content = state.visible};
  for (const Call& call : state.batch) {
    if (call.status == CallStatus::kWithClient) {
      for_client.tool_calls.push_back(call.request);
    } else if (call.status != CallStatus::kDone) {
      return;
    }
  }
  if (for_client.tool_calls.empty() || std::exchange(state.offered, true)) return;
  state.transcript = extend_transcript(state.transcript, for_client);
}

void begin_batch(State& state, llm::Answer& answer) {
  name_calls(state, answer.tool_calls);
  state.batch.clear();
  state.offered = false;
  for (const llm::ToolCall& request : answer.tool_calls) {
    Call call{.request = request};
    if (state.batch.size() >= kMaxToolCallsPerAnswer) {
      call.status = CallStatus::kDone;
      call.result = {.id = request.id,
                     .name = request.name,
                     .text = std::string(kTooManyCallsResult),
                     .preview = {},
                     .is_error = true};
      call.ending = Ending::kRefused;
    } else if (state.start.client_tools.contains(request.name)) {
      call.status = CallStatus::kWithClient;
    }
    state.batch.push_back(std::move(call));
  }
  offer_client_calls(state);
  state.conversation.append(
      state.start.number,
      {.role = llm::Role::kAssistant, .content = answer.text, .tool_calls = std::move(answer.tool_calls)});
  state.phase = Phase::kTools;
}

void finish_answer(State& state, llm::Answer& answer) {
  if (answer.text.empty()) {
    fail_turn(state,
              Error{.code = Code::kUpstream,
                    .message = answer.tool_calls.empty()
                                   ? "the model gave an empty answer; try again"
                                   : "the model kept calling tools after it was asked for its final answer"});
    return;
  }
  say(state, llm::Role::kAssistant, answer.text);
  state.finish_reason = answer.finish_reason;
  if (!state.steering.empty()) {
    // The person has said more: their message renews the turn's budget.
    state.steps = 0;
    state.final_answer = false;
    enter_model(state);
    return;
  }
  state.reply = std::move(answer.text);
  state.phase = Phase::kFinishing;
}

// One overload per input. An input that does not fit the state is ignored.
struct Apply {
  State& state;

  void operator()(TurnStarted& in) const {
    if (running(state)) return;
    std::erase_if(state.queue, [&in](const Steered& waiting) { return waiting.message_id == in.message_id; });
    if (state.turns == 0 && !in.history.empty()) {
      for (const llm::Message& message : in.history) state.conversation.append(-1, message);
      state.transcript = transcript_of(in.history);
    }
    state.transcript_before = state.transcript;
    state.transcript = extend_transcript(state.transcript, {.role = llm::Role::kUser, .content = in.input});
    state.start = std::move(in);
    state.start.history.clear();
    state.turns = state.start.number + 1;
    state.iteration = 0;
    state.steps = 0;
    state.final_answer = false;
    state.context_retry = false;
    state.usage = {};
    state.reply.clear();
    state.visible.clear();
    state.before_question.reset();
    state.answered_by.clear();
    state.error.reset();
    say(state, llm::Role::kUser, state.start.content);
    enter_model(state);
  }

  void operator()(ModelRequested&) const {
    if (state.phase == Phase::kModel) state.requested = true;
  }

  void operator()(ModelAnswered& in) const {
    if (state.phase != Phase::kModel) return;
    llm::Answer& answer = in.answer;
    state.requested = false;
    ++state.iteration;
    state.usage.input_tokens += answer.usage.input_tokens;
    state.usage.output_tokens += answer.usage.output_tokens;
    state.usage.cached_tokens += answer.usage.cached_tokens;
    state.answered_by = answer.model;
    add_visible(state, answer.text);
    if (!answer.tool_calls.empty() && !state.final_answer) {
      begin_batch(state, answer);
    } else {
      finish_answer(state, answer);
    }
  }

  void operator()(ToolRequested& in) const {
    for (tools::PreparedCall& prepared : in.calls) {
      Call* call = find_call(state, prepared.id);
      if (call == nullptr || call->status != CallStatus::kRequested) continue;
      call->status = prepared.decision == tools::PreparedCall::Decision::kAsk ? CallStatus::kNeedsApproval
                                                                              : CallStatus::kRunnable;
      call->prepared = std::move(prepared);
    }
  }

  void operator()(ToolStarted& in) const {
    Call* call = find_call(state, in.id);
    if (call != nullptr && call->status == CallStatus::kRunnable) call->status = CallStatus::kStarted;
  }

  void operator()(ToolFinished& in) const {
    Call* call = find_call(state, in.call.id);
    if (call == nullptr || call->status == CallStatus::kDone) return;
    if (in.ending == Ending::kClient) {
      state.transcript = extend_transcript(
          state.transcript, {.role = llm::Role::kTool, .content = in.call.text, .tool_call_id = in.call.id});
      state.visible.clear();
    }
    call->status = CallStatus::kDone;
    call->result = std::move(in.call);
    call->ending = in.ending;
    offer_client_calls(state);
    finish_batch(state);
  }

  void operator()(Asked& in) const {
    Call* call = find_call(state, in.call_id);
    if (call == nullptr || call->status != CallStatus::kNeedsApproval) return;
    call->status = CallStatus::kAsked;
    call->request_id = in.request_id;
    state.before_question = {state.visible, state.transcript};
    add_visible(state, approval_text(in.tool_name, in.description, in.arguments));
    state.transcript =
        extend_transcript(state.transcript, {.role = llm::Role::kAssistant, .content = state.visible});
  }

  void operator()(Answered& in) const {
    for (Call& call : state.batch) {
      if (call.status != CallStatus::kAsked || call.request_id != in.request_id) continue;
      call.status = CallStatus::kRunnable;
      // The question was shown until now. Who waited for an answer from elsewhere never saw it.
      if (in.input.empty() && state.before_question) {
        std::tie(state.visible, state.transcript) = *state.before_question;
      } else {
        state.visible.clear();
      }
      state.before_question.reset();
      if (in.decision == Decision::kDeny) {
        call.prepared.decision = tools::PreparedCall::Decision::kRefused;
        call.prepared.refusal = kDeniedResult;
      } else {
        call.prepared.decision = tools::PreparedCall::Decision::kRun;
      }
      if (!in.input.empty()) {
        state.transcript =
            extend_transcript(state.transcript, {.role = llm::Role::kUser, .content = in.input});
      }
    }
  }

  void operator()(Steered& in) const {
    if (!in.next_turn.empty()) {
      state.queue.push_back(std::move(in));
      return;
    }
    if (!running(state)) return;
    if (pending_approval(state) != nullptr) {
      // What is no answer to the question gets the question again.
      state.transcript = extend_transcript(state.transcript, {.role = llm::Role::kUser, .content = in.input});
      state.transcript =
          extend_transcript(state.transcript, {.role = llm::Role::kAssistant, .content = state.visible});
      state.before_question.reset();
    }
    state.steering.push_back(std::move(in.input));
    if (state.phase == Phase::kModel && !state.requested) deliver_steering(state);
  }

  void operator()(Compacted& in) const {
    if (!running(state)) return;
    state.conversation.apply(in.plan);
    if (in.refused_length) {
      state.context_retry = true;
      state.requested = false;
    }
  }

  void operator()(Interrupted&) const {
    if (!running(state)) return;
    close_open_calls(state);
    state.transcript = state.transcript_before;
    end_turn(state);
  }

  void operator()(TurnFinished& in) const {
    if (!running(state)) return;
    replace_reply(state, std::move(in.reply));
    state.transcript =
        extend_transcript(state.transcript, {.role = llm::Role::kAssistant, .content = state.visible});
    end_turn(state);
  }

  void operator()(TurnFailed& in) const {
    if (!running(state)) return;
    state.error = std::move(in.error);
    close_open_calls(state);
    state.transcript = state.transcript_before;
    end_turn(state);
  }

  // The records of the other thread up to `at` come before this one; a turn that ran there, and messages that waited there, are
  // not taken over.
  void operator()(Forked&) const {
    state.queue.clear();
    if (!running(state)) return;
    close_open_calls(state);
    state.transcript = state.transcript_before;
    end_turn(state);
  }
};

std::vector<Effect> model_effects(const State& state) {
  const auto context = static_cast<double>(state.start.context_tokens);
  if (!state.requested && context > 0 &&
      static_cast<double>(state.conversation.tokens()) > context * kCompactAt) {
    const auto plan = plan_compaction(state.conversation, state.start.number,
                                      static_cast<std::int64_t>(context * kCompactTo));
    if (plan) return {Compact{*plan}};
  }
  return {CallModel{state.iteration}};
}

std::vector<Effect> tool_effects(const State& state) {
  std::vector<llm::ToolCall> requested;
  std::vector<tools::PreparedCall> runnable;
  std::vector<llm::ToolCall> with_client;
  const Call* asked = nullptr;
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

Step advance(State state, Input input) {
  std::visit(Apply{state}, input);
  std::vector<Effect> next = effects(state);
  return {std::move(state), std::move(next)};
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

bool awaits_client(const State& state) {
  const std::vector<Effect> next = effects(state);
  return !next.empty() && std::holds_alternative<AwaitClient>(next.front());
}

std::string effect_name(const Effect& effect) {
  static constexpr std::string_view kNames[] = {"CallModel", "PrepareCalls", "RunCalls",
                                                "Ask",       "AwaitAnswer",  "AwaitClient",
                                                "Compact",   "Finish",       "Fail"};
  return std::string(kNames[effect.index()]);
}

}  // namespace chela::agent::turn
