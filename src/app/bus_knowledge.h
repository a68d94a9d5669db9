#pragma once

#include "agent/dependencies.h"
#include "bus/bus.h"

namespace chela::app {

inline constexpr auto kBusRecallTime =
    std::chrono::seconds(5);  // after it a turn goes on with what the own memory gives

// What the agents know of their user, with the lines that `memory::recall` of a worker gives while one may replace it. It gets
// {agentId, query, limit} and answers with an array of texts or of {content}. What fails is answered by the own memory.
class BusKnowledge final : public agent::Knowledge {
 public:
  explicit BusKnowledge(agent::Knowledge& own) : own_(own) {}
  // From now on workers of this bus are asked.
  void use(bus::Bus& bus) { bus_ = &bus; }

  Task<std::vector<std::pair<std::string, std::string>>> identity(Scope scope) override;
  Task<std::vector<std::string>> recall(Scope scope, std::string text, size_t limit) override;

 private:
  agent::Knowledge& own_;
  bus::Bus* bus_ = nullptr;
};

}  // namespace chela::app
