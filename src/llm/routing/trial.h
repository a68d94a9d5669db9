#pragma once

#include <string>

#include "llm/provider.h"

namespace chela::llm::routing {

// Whether the words are those of a model that is not up to the task.
bool is_uncertain(std::string_view text);

// Holds an answer back until its beginning (kTrialBytes of text) shows that it will do; from there on it is passed on as it comes. Nothing
// that was held is ever taken back from a reader, so that a client of /v1 gets one answer.
class Trial {
 public:
  explicit Trial(DeltaSink sink) : sink_(std::move(sink)) {}

  enum class State { kOpen, kPassed, kFailed };
  State feed(const Delta& delta);
  // The whole answer is there.
  State finish(const Answer& answer);
  State state() const { return state_; }

 private:
  void pass();

  DeltaSink sink_;
  Delta held_;
  State state_ = State::kOpen;
};

}  // namespace chela::llm::routing
