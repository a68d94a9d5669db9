#include "agent/traces/player.h"

#include "agent/traces/thread_log.h"
#include "agent/turn/records.h"

namespace chela::agent::traces {
namespace {

constexpr std::string_view kChannel = "trace";
constexpr std::string_view kRefused = "refused";

}  // namespace

Task<Result<Report>> Player::play(std::stop_token stop) {
  const Result<ThreadInfo> thread =
      co_await parts_.engine.create_thread(parts_.scope, std::string(kChannel), "");
  if (!thread) co_return fail(thread.error());
  thread_ = thread->id;
  report_.notes = trace_.notes;
  for (size_t i = 0; i < trace_.turns.size(); ++i) {
    if (stop.stop_requested()) co_return fail(Code::kCancelled, "the replay was cancelled");
    if (const Result<> played = co_await play_turn(i, stop); !played) co_return fail(played.error());
  }
  for (Unmet& each : unmet(trace_.expects, report_.whole)) report_.failures.push_back({"", std::move(each)});
  if (strictness_ == Strictness::kStrict) {
    for (const std::string& each : report_.notes)
      report_.failures.push_back({"", {std::string(kStrict), each}});
  }
  for (const std::string& each : trace_.left_out)
    report_.notes.push_back(fmt::format("the trace was made without {}", each));
  co_return std::move(report_);
}

Task<Result<Accepted>> Player::send(std::string text) {
  return parts_.engine.send({.scope = parts_.scope,
                             .channel = std::string(kChannel),
                             .thread_id = thread_,
                             .content = std::move(text),
                             .permissions = {"*"}});
}

// Said while the model is at work.
Task<> Player::say(std::string text) {
  const Result<Accepted> accepted = co_await send(text);
  if (!accepted)
    said_notes_.push_back(fmt::format("'{}' was refused in mid-turn: {}", text, accepted.error().message));
  else if (!accepted->turn_id.empty())
    said_turns_.push_back(accepted->turn_id);
}

// The state that the turn ends with, or waits in.
Task<Result<std::string>> Player::wait(std::string turn_id, std::stop_token stop) {
  while (true) {
    const Result<TurnOutcome> outcome = co_await parts_.engine.wait(parts_.scope, turn_id, stop);
    if (!outcome) co_return fail(outcome.error());
    const bool goes_on = parts_.model.unplayed() > 0;
    Result<> answered;
    if (goes_on && outcome->state == TurnState::kAwaitingApproval) {
      const Result<Accepted> decided = co_await parts_.engine.decide(
          parts_.scope, outcome->approval->request_id, Decision::kApprove, {"*"});
      if (!decided) answered = fail(decided.error());
    } else if (goes_on && outcome->state == TurnState::kAwaitingAuth) {
      answered = co_await parts_.engine.cancel_credential(parts_.scope, outcome->auth->name);
    } else {
      co_return std::string(turn_state_name(outcome->state));
    }
    if (!answered) co_return fail(answered.error());
  }
}

Task<Result<>> Player::play_turn(size_t index, std::stop_token stop) {
  const TraceTurn& turn = trace_.turns[index];
  Observed observed;
  said_turns_.clear();
  parts_.model.begin_turn(turn.steps, [this](std::string text) { return say(std::move(text)); });
  const int too_many = parts_.model.calls_too_many();
  const Result<Accepted> accepted = co_await send(turn.user_input);
  if (!accepted) {
    observed.state = kRefused;
    observed.error = accepted.error().message;
  } else {
    if (accepted->thread_id != thread_) seen_ = 0;  // a command led to another one
    thread_ = accepted->thread_id;
    if (accepted->reply) observed.responses.push_back(*accepted->reply);
    if (!accepted->turn_id.empty()) said_turns_.insert(said_turns_.begin(), accepted->turn_id);
  }
  for (size_t i = 0; i < said_turns_.size(); ++i) {
    const Result<std::string> state = co_await wait(said_turns_[i], stop);
    if (!state) co_return fail(state.error());
    observed.state = *state;
  }
  if (const Result<> seen = co_await observe(observed); !seen) co_return seen;
  observed.requests = parts_.model.take_requests();
  observed.model_calls = static_cast<std::int64_t>(observed.requests.size());
  note(index, parts_.model.take_notes());
  note(index, std::exchange(said_notes_, {}));
  if (const size_t left = parts_.model.unplayed(); left > 0)
    note(index, {fmt::format("{} of its answers were not asked for", left)});
  if (const int more = parts_.model.calls_too_many() - too_many; more > 0)
    report_.failures.push_back(
        {fmt::format("turns[{}]", index),
         {std::string(kSteps),
          fmt::format("the model was asked {} times more than the trace answers", more)}});
  judge(index, observed);
  co_return Result<>{};
}

// What the log has gained.
Task<Result<>> Player::observe(Observed& observed) {
  const Result<json::Array> records = co_await records_after(parts_.engine, parts_.scope, thread_, seen_);
  if (!records) {
    // A thread that has begun with a command has no log yet.
    co_return records.error().code == Code::kNotFound ? Result<>{} : fail(records.error());
  }
  for (const json::Value& each : *records) {
    seen_ = each.int_or("seq", seen_);
    static const json::Value kNothing = json::Value::object();
    const json::Value* body = each.find("body");
    const Result<turn::Input> input =
        turn::from_body(each.string_or("kind"), json::write(body != nullptr ? *body : kNothing));
    if (!input) co_return fail(input.error());
    if (const auto* finished = std::get_if<turn::TurnFinished>(&*input)) {
      observed.responses.push_back(finished->reply);
    } else if (const auto* failed = std::get_if<turn::TurnFailed>(&*input)) {
      observed.error = failed->error.message;
    } else if (const auto* result = std::get_if<turn::ToolFinished>(&*input)) {
      observed.calls.push_back(
          {result->call.id, result->call.name, result->call.text, result->call.is_error});
    }
  }
  co_return Result<>{};
}

void Player::judge(size_t index, const Observed& observed) {
  for (Unmet& each : unmet(trace_.turns[index].expects, observed))
    report_.failures.push_back({fmt::format("turns[{}]", index), std::move(each)});
  report_.whole.add(observed);
  report_.turns.push_back(observed);
}

void Player::note(size_t index, std::vector<std::string> notes) {
  for (std::string& each : notes) report_.notes.push_back(fmt::format("turns[{}]: {}", index, each));
}

}  // namespace chela::agent::traces
