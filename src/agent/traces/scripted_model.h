#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/traces/trace.h"
#include "llm/provider.h"
#include "runtime/event_loop.h"

namespace chela::agent::traces {

// Answers as a trace says, and keeps what it was sent. What the person says in mid-turn it has said (`say`) before it answers, so that
// it is there when the turn goes on. Loop thread only; owned by whoever plays the trace, and outlives the engine's calls.
class ScriptedModel final : public llm::Provider {
 public:
  using Say = std::function<Task<>(std::string text)>;
  explicit ScriptedModel(runtime::EventLoop& loop) : loop_(loop) {}

  // The steps from now on; what was left of those before it is forgotten.
  void begin_turn(std::vector<TraceStep> steps, Say say);
  // Answers that nobody has asked for yet.
  size_t unplayed() const;
  // How often it was asked when there was nothing left to answer.
  int calls_too_many() const { return calls_too_many_; }

  // Since they were last taken: what each call was sent (all messages as one text), and where a request was not as it was thought to be.
  std::vector<std::string> take_requests() { return std::exchange(requests_, {}); }
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  // Errors: kInvalidArgument when nothing is left, and those of the trace.
  Task<Result<llm::Answer>> complete(llm::Request request, llm::DeltaSink sink,
                                     std::optional<SteadyTime> deadline, std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  void compare(const TraceStep& step, const llm::Request& request);
  Result<llm::Answer> answer(const TraceStep& step, const llm::Request& request);

  runtime::EventLoop& loop_;
  std::vector<TraceStep> steps_;
  size_t next_ = 0;
  Say say_;
  int calls_too_many_ = 0;
  std::vector<std::string> requests_;
  std::vector<std::string> notes_;
};

}  // namespace chela::agent::traces
