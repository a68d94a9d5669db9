#pragma once

#include <functional>
#include <memory>

#include "bus/bus.h"
#include "llm/provider.h"

namespace chela::llm {

// The function `llm::complete` of a worker, while there is one that may replace it. It gets the body of an OpenAI chat completion (images
// by name only) and answers with a message of the assistant: docs/contracts.md, Bus. Its text comes as one delta. Loop thread only.
class WorkerProvider final : public Provider {
 public:
  // Asks in the name of `asking`: whose workers, and administrators', may answer.
  WorkerProvider(bus::Bus& bus, op::Principal asking) : bus_(bus), asking_(std::move(asking)) {}

  bool there() const;
  // An error with the detail kGone when the worker went before it had answered.
  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  // Workers do not tell.
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

  static constexpr std::string_view kGone = "worker_gone";

 private:
  bus::Bus& bus_;
  const op::Principal asking_;
};

// A worker instead of a model's own provider, while there is one; else the own one, which also does what a worker did not bring to an
// end.
class BusProvider final : public Provider {
 public:
  // What counts the calls of the worker, as the own provider's are counted behind it; empty: nobody.
  using Count = std::function<std::unique_ptr<Provider>(Provider& inner)>;
  BusProvider(Provider& own, bus::Bus& bus, op::Principal asking, const Count& count = {})
      : own_(own),
        worker_(bus, std::move(asking)),
        counted_(count ? count(worker_) : nullptr),
        front_(counted_ ? *counted_ : static_cast<Provider&>(worker_)) {}

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  Provider& own_;
  WorkerProvider worker_;
  std::unique_ptr<Provider> counted_;
  Provider& front_;
};

// What a worker's answer says; kUpstream when it is no message.
Result<Answer> answer_from_json(const json::Value& value);

}  // namespace chela::llm
