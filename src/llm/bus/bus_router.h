#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "bus/bus.h"
#include "llm/provider.h"

namespace chela::llm {

inline constexpr auto kRouteTime = std::chrono::seconds(2);  // a worker that takes longer is done without

// The function `llm::route` of a worker, while there is one that may replace it: chooses the model of a request for which nobody named one.
// It gets {message, toolCount, model} and answers with {model, provider?}. Loop thread only.
class BusRouter {
 public:
  // Asks in the name of `asking`: whose workers, and administrators', may answer.
  BusRouter(bus::Bus& bus, op::Principal asking) : bus_(bus), asking_(std::move(asking)) {}

  // The model's name; nothing when there is no such worker, or what it answers is no choice.
  Task<std::optional<std::string>> route(std::string message, std::int64_t tools, std::string model,
                                         std::stop_token stop);

 private:
  bus::Bus& bus_;
  const op::Principal asking_;
};

// "provider/model", or the model where no provider is named; "" when it is no choice.
std::string model_from_route(const json::Value& value);

}  // namespace chela::llm
