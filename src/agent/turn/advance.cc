#include <algorithm>
#include <tuple>
#include <utility>

#include "agent/turn/call_ids.h"
#include "agent/turn/limits.h"
#include "agent/turn/notes.h"
#include "agent/turn/state.h"
#include "agent/turn/transcript.h"
#include "base/limits.h"
#include "crypto/hash.h"

namespace chela::agent::turn {
namespace {

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

llm::Message user_message(const State& state, std::string text, const std::vector<Attachment>& attachments) {
  llm::Message message{.role = llm::Role::kUser, .content = std::move(text)};
  for (const Attachment& each : attachments) {
    if (each.kind == Attachment::Kind::kImage && state.start.sees_images)
      message.images.push_back({.media_type = each.media_type, .hash = each.hash});
  }
  return message;
}

// Messages that came while the model or its tools worked are delivered before the next model call.
void deliver_steering(State& state) {
  for (llm::Message& message : state.steering)
    state.conversation.append(state.start.number, std::move(message));
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
    state.conversation.append(state.start.number,
                              {.role = llm::Role::kTool,
                               .content = call.result.text,
                               .tool_call_id = call.request.id,
                               .name = call.request.name},
                              call.result.is_error ? Outcome::kError : Outcome::kOk);
  }
}

void close_open_calls(State& state) {
  if (state.phase != Phase::kTools) return;
  for (Call& call : state.batch) {
    if (call.status == CallStatus::kDone) continue;
    call.result.text = kStoppedResult;
    call.result.is_error = true;
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
  name_calls(state.start.turn, state.call_ids, answer.tool_calls);
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
  state.conversation.append(state.start.number, {.role = llm::Role::kAssistant,
                                                 .content = answer.text,
                                                 .tool_calls = std::move(answer.tool_calls),
                                                 .provider_data = std::move(answer.provider_data)});
  state.phase = Phase::kTools;
}

// What was meant as a call was none: the model is told and goes on.
bool ask_again(State& state, ModelAnswered& in) {
  if (in.refused == dialects::Refused::kNothing || state.refusals >= kMaxRefusedAnswers) return false;
  ++state.refusals;
  ++state.steps;
  if (!in.answer.text.empty()) say(state, llm::Role::kAssistant, std::move(in.answer.text));
  const bool cut = in.refused == dialects::Refused::kCut;
  say(state, llm::Role::kSystem, std::string(cut ? kCutCallNote : kUnreadableCallNote));
  enter_model(state);
  return true;
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
  // Calls that were not asked for are no reason.
  state.finish_reason = answer.tool_calls.empty() ? answer.finish_reason : llm::FinishReason::kStop;
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
      for (const llm::Message& message : in.history) state.conversation.append(kClientHistory, message);
      state.transcript = transcript_of(in.history);
    }
    state.redo.clear();
    if (state.undo.size() >= kMaxUndo) state.undo.erase(state.undo.begin());
    state.undo.push_back({.turn = in.turn,
                          .number = in.number,
                          .input = in.input,
                          .attachments = in.attachments,
                          .transcript = state.transcript});
    state.transcript_before = state.transcript;
    state.transcript = extend_transcript(state.transcript, {.role = llm::Role::kUser, .content = in.input});
    state.start = std::move(in);
    state.start.history.clear();
    state.permissions = {state.start.permissions};
    state.turns = state.start.number + 1;
    state.iteration = 0;
    state.steps = 0;
    state.final_answer = false;
    state.refusals = 0;
    state.context_retry = false;
    state.usage = {};
    state.reply.clear();
    state.visible.clear();
    state.before_question.reset();
    state.answered_by.clear();
    state.error.reset();
    state.conversation.append(state.start.number,
                              user_message(state, state.start.content, state.start.attachments));
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
    const bool tools = !tools_are_off(state);
    if (tools && !answer.tool_calls.empty()) {
      begin_batch(state, answer);
    } else if (!tools || !ask_again(state, in)) {
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

  void operator()(CredentialAsked& in) const {
    Call* call = find_call(state, in.call_id);
    if (call == nullptr || call->status != CallStatus::kStarted) return;
    call->status = CallStatus::kNeedsCredential;
    if (!state.before_question) state.before_question = {state.visible, state.transcript};
    add_visible(state, credential_text(in.name, in.instructions));
    state.transcript = extend_transcript(state.before_question->second,
                                         {.role = llm::Role::kAssistant, .content = state.visible});
    call->credential = std::move(in);
  }

  // The call goes on: its result comes with the same step.
  void operator()(CredentialAnswered& in) const {
    for (Call& call : state.batch) {
      if (call.status != CallStatus::kNeedsCredential || call.credential.request_id != in.request_id)
        continue;
      call.status = CallStatus::kStarted;
    }
    // Nothing is answered in the conversation: it is as if nobody had asked.
    if (pending_credential(state) == nullptr && state.before_question) {
      std::tie(state.visible, state.transcript) = *state.before_question;
      state.before_question.reset();
    }
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
    if (in.with == Steered::With::kResults) {
      state.transcript = extend_transcript(state.transcript, {.role = llm::Role::kUser, .content = in.input});
    } else if (pending_approval(state) != nullptr) {
      // What is no answer to the question gets the question again.
      state.transcript = extend_transcript(state.transcript, {.role = llm::Role::kUser, .content = in.input});
      state.transcript =
          extend_transcript(state.transcript, {.role = llm::Role::kAssistant, .content = state.visible});
      state.before_question.reset();
    }
    if (std::find(state.permissions.begin(), state.permissions.end(), in.permissions) ==
        state.permissions.end())
      state.permissions.push_back(std::move(in.permissions));
    if (!state.undo.empty()) {
      Checkpoint& turn = state.undo.back();
      turn.input += "\n\n" + in.input;
      turn.attachments.insert(turn.attachments.end(), in.attachments.begin(), in.attachments.end());
    }
    std::string text = in.content.empty() ? std::move(in.input) : std::move(in.content);
    state.steering.push_back(user_message(state, std::move(text), in.attachments));
    if (state.phase == Phase::kModel && !state.requested) deliver_steering(state);
  }

  void operator()(Compacted& in) const {
    state.conversation.apply(in.plan);
    // What a summary tells of cannot be taken back: the model would still know it.
    if (!in.plan.summary.empty()) {
      const std::int64_t told = state.conversation.dropped_turns();
      std::erase_if(state.undo, [told](const Checkpoint& each) { return each.number < told; });
    }
    if (in.refused_length && running(state)) {
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

  void operator()(Undone& in) const {
    if (running(state) || state.undo.empty() || state.undo.back().turn != in.turn) return;
    UndoneTurn undone{.checkpoint = std::move(state.undo.back()),
                      .messages = state.conversation.take_off(in.number),
                      .transcript = std::move(state.transcript)};
    state.undo.pop_back();
    state.transcript = undone.checkpoint.transcript;
    state.turns = undone.checkpoint.number;
    state.redo.push_back(std::move(undone));
  }

  void operator()(Redone& in) const {
    if (running(state) || state.redo.empty() || state.redo.back().checkpoint.turn != in.turn) return;
    UndoneTurn undone = std::move(state.redo.back());
    state.redo.pop_back();
    state.conversation.put_back(std::move(undone.messages));
    state.transcript = std::move(undone.transcript);
    state.turns = undone.checkpoint.number + 1;
    state.undo.push_back(std::move(undone.checkpoint));
  }

  void operator()(Cleared&) const {
    if (running(state)) return;
    state.conversation.clear();
    state.undo.clear();
    state.redo.clear();
    state.transcript.clear();
    state.turns = 0;
  }
};

}  // namespace

Step advance(State state, Input input) {
  std::visit(Apply{state}, input);
  std::vector<Effect> next = effects(state);
  return {std::move(state), std::move(next)};
}

}  // namespace chela::agent::turn
