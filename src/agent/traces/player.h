#pragma once

#include <string>
#include <vector>

#include "agent/engine.h"
#include "agent/traces/expectations.h"
#include "agent/traces/scripted_model.h"
#include "agent/traces/trace.h"
#include "runtime/event_loop.h"

namespace chela::agent::traces {

// What did not hold, and where: "turns[1]" or "" for the whole trace.
struct Failed {
  std::string where;
  Unmet what;
};

struct Report {
  std::vector<Observed> turns = {};  // one for each that was played
  Observed whole = {};
  std::vector<Failed> failures = {};
  std::vector<std::string> notes = {};  // what was otherwise than recorded, without being expected
};

// kStrict: notes count as failures.
enum class Strictness { kExpectations, kStrict };

// Has the conversation of a trace with an engine whose model is the ScriptedModel. A turn of the trace ends when the engine waits for
// somebody: then the next one's input is the answer. A question that comes while the turn has answers left was answered within it: calls
// are approved, credentials are not given. Loop thread only; everything referenced outlives it.
class Player {
 public:
  struct Parts {
    Engine& engine;
    ScriptedModel& model;
    Scope scope;
  };
  Player(Parts parts, const Trace& trace, Strictness strictness)
      : parts_(std::move(parts)), trace_(trace), strictness_(strictness) {}

  // Errors are those of the engine itself, or kCancelled; what the trace did not expect is in the report.
  Task<Result<Report>> play(std::stop_token stop);

 private:
  Task<Result<>> play_turn(size_t index, std::stop_token stop);
  Task<> say(std::string text);
  Task<Result<Accepted>> send(std::string text);
  Task<Result<std::string>> wait(std::string turn_id, std::stop_token stop);
  Task<Result<>> observe(Observed& observed);
  void judge(size_t index, const Observed& observed);
  void note(size_t index, std::vector<std::string> notes);

  Parts parts_;
  const Trace& trace_;
  const Strictness strictness_;
  Report report_;
  std::string thread_;
  std::int64_t seen_ = 0;                // last record of the thread that was looked at
  std::vector<std::string> said_turns_;  // that began with what was said in mid-turn
  std::vector<std::string> said_notes_;
};

}  // namespace chela::agent::traces
