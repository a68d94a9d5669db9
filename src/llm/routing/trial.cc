#include "llm/routing/trial.h"

#include "base/strings.h"
#include "llm/routing/limits.h"
#include "llm/routing/phrases.h"

namespace chela::llm::routing {
namespace {

constexpr std::array<std::string_view, 1> kUncertain{
    "i'm not sure, i am not sure, i don't know, i do not know, i'm unable to, i am unable to, i cannot, i "
    "can not, "
    "i can't, beyond my capabilities, beyond my ability, beyond my abilities, i'm not able to, i am not able "
    "to, "
    "i don't have enough, i do not have enough, i need more context, i need more information, could you "
    "clarify, "
    "could you provide more, i'm not confident, i am not confident"};

const Phrases& phrases() {
  static const Phrases made(kUncertain);
  return made;
}

}  // namespace

bool is_uncertain(std::string_view text) { return !phrases().first(Words(text), 0).empty(); }

void Trial::pass() {
  state_ = State::kPassed;
  if (sink_ && (!held_.text.empty() || !held_.reasoning.empty() || held_.reset)) sink_(held_);
  held_ = {};
}

Trial::State Trial::feed(const Delta& delta) {
  if (state_ == State::kPassed && sink_) sink_(delta);
  if (state_ != State::kOpen) return state_;
  if (delta.reset) held_ = {};
  held_.text += delta.text;
  held_.reasoning += delta.reasoning;
  // The last word may not be whole yet.
  const std::size_t end = held_.text.find_last_of(" \n");
  if (end != std::string::npos && is_uncertain(std::string_view(held_.text).substr(0, end))) {
    state_ = State::kFailed;
  } else if (held_.text.size() >= kTrialBytes) {
    pass();
  }
  return state_;
}

Trial::State Trial::finish(const Answer& answer) {
  if (state_ != State::kOpen) return state_;
  const bool empty = strings::trim(answer.text).empty() && answer.tool_calls.empty();
  if (empty || answer.finish_reason == FinishReason::kContentFilter || is_uncertain(answer.text)) {
    state_ = State::kFailed;
  } else {
    pass();
  }
  return state_;
}

}  // namespace chela::llm::routing
