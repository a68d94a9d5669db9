#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "op/operation.h"
#include "runtime/task.h"

namespace chela::cli {

// The events of one operation. Destroying it ends the operation.
class EventReader {
 public:
  virtual ~EventReader() = default;
  // The next event; nothing at the end of the stream or on stop.
  virtual Task<Result<std::optional<op::Event>>> next(std::stop_token stop) = 0;
};

// The operations of an engine: of the one that runs (RemoteClient) or of one in this process (LocalClient). Loop thread only.
class Client {
 public:
  virtual ~Client() = default;
  virtual Task<Result<json::Value>> call(std::string operation, json::Value args, std::stop_token stop) = 0;
  // The subscription is live when this returns.
  virtual Task<Result<std::unique_ptr<EventReader>>> open(std::string operation, json::Value args,
                                                          std::stop_token stop) = 0;
  // Ends what is still open. Awaited before destruction.
  virtual Task<> close() = 0;
};

}  // namespace chela::cli
