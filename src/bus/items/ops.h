#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace chela::bus::items {

// Why one operation of an update changed nothing.
struct OpError {
  size_t index;  // in the update's operations
  std::string code;
  std::string message;
};

struct Updated {
  json::Value value;
  std::vector<OpError> errors;
};

// Applies iii's update operations in order to a value (nothing: there is none, an object is begun). An operation that does not fit is
// skipped and reported, the others count. Types: set, merge, increment, decrement, remove, append. A path is one literal key, "" the value
// itself; merge and append also take an array of keys and make objects on their way. kInvalidArgument for what are no operations,
// kTooLarge past kMaxUpdateOps or kMaxUpdateWork.
Result<Updated> apply_ops(std::optional<json::Value> value, const json::Value& ops);

// [{"op_index","code","message"}]
json::Value to_json(const std::vector<OpError>& errors);

}  // namespace chela::bus::items
