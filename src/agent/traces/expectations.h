#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/traces/trace.h"

// What a replay has done, held against what was expected of it.
namespace chela::agent::traces {

struct ObservedCall {
  std::string id;
  std::string name;
  std::string text;  // as the model reads it
  bool is_error = false;
};

struct Observed {
  std::vector<std::string> responses;
  std::vector<ObservedCall> calls;
  std::string state = "completed";  // of the last turn, in history's words; "refused" when nothing began
  std::string error = {};           // of turns that failed
  std::int64_t model_calls = 0;
  std::vector<std::string> requests = {};  // the messages that the model was sent, one text a call

  void add(const Observed& later);
};

// Not members of `expects`: the model was asked too often; something was otherwise than recorded.
inline constexpr std::string_view kSteps = "steps";
inline constexpr std::string_view kStrict = "strict";

struct Unmet {
  std::string expectation;  // its member: "tools_used"
  std::string message;      // what was expected, and what there is

  // No other expectation would mend it.
  bool beyond_expects() const { return expectation == kSteps || expectation == kStrict; }
};

// All that does not hold.
std::vector<Unmet> unmet(const Expects& expects, const Observed& observed);
// The expectations with those that do not hold replaced by what is true now; what is true of everything is dropped.
Expects rewritten(const Expects& expects, const Observed& observed);
// What can be expected of a run that went like this.
Expects described(const Observed& observed);

}  // namespace chela::agent::traces
