#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "op/operation.h"

namespace chela::op {

// Who performs operations in the engine's place while it is there: workers of the bus that replace them. Owned by app/, outlives all
// calls; loop thread only.
class Detour {
 public:
  virtual ~Detour() = default;
  // Whether a call of the operation goes there just now.
  virtual bool takes(std::string_view id, const CallContext& context) const = 0;
  // Performs it. The arguments have passed prepare(). nullopt: nobody did, and the operation's own handler is to do it.
  virtual Task<std::optional<Result<json::Value>>> call(std::string id, Idempotent idempotent,
                                                        CallContext context, json::Value args) = 0;
};

}  // namespace chela::op
