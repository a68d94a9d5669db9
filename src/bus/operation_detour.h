#pragma once

#include "bus/bus.h"
#include "op/detour.h"

namespace chela::bus {

// Calls of operations go to the workers that replace them, whichever way they came in. An operation's own handler does what no worker
// has begun; and what one had begun when it went, if the operation may be repeated.
class OperationDetour final : public op::Detour {
 public:
  explicit OperationDetour(Bus& bus) : bus_(bus) {}

  bool takes(std::string_view id, const op::CallContext& context) const override {
    return bus_.replaced(id, context);
  }
  Task<std::optional<Result<json::Value>>> call(std::string id, op::Idempotent idempotent,
                                                op::CallContext context, json::Value args) override;

 private:
  Bus& bus_;
};

}  // namespace chela::bus
