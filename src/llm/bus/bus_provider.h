#pragma once

#include "bus/bus.h"
#include "llm/provider.h"

namespace chela::llm {

// The function `llm::complete` of a worker instead of a model's own provider, while there is one that may replace it; else the own one,
// which also does what a worker did not bring to an end. The worker gets the body of an OpenAI chat completion (images by name only) and
// answers with a message of the assistant: docs/contracts.md, Bus. Its text comes as one delta. Loop thread only.
class BusProvider final : public Provider {
 public:
  // Asks in the name of `asking`: whose workers, and administrators', may answer.
  BusProvider(Provider& own, bus::Bus& bus, op::Principal asking)
      : own_(own), bus_(bus), asking_(std::move(asking)) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  Provider& own_;
  bus::Bus& bus_;
  const op::Principal asking_;
};

// What a worker's answer says; kUpstream when it is no message.
Result<Answer> answer_from_json(const json::Value& value);

}  // namespace chela::llm
