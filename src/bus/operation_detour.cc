#include "bus/operation_detour.h"

namespace chela::bus {

Task<std::optional<Result<json::Value>>> OperationDetour::call(std::string id, op::Idempotent idempotent,
                                                               op::CallContext context, json::Value args) {
  Result<json::Value> value =
      co_await bus_.call_replacement(std::move(context), std::move(id), std::move(args));
  if (!value) {
    const std::string_view code = value.error().detail("bus_code");
    if (never_begun(value.error()) || (code == "invocation_stopped" && idempotent == op::Idempotent::kYes))
      co_return std::nullopt;
  }
  co_return value;
}

}  // namespace chela::bus
