#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bus/bus.h"
#include "bus/items/items.h"
#include "bus/stream/event.h"
#include "bus/stream/far_values.h"
#include "op/operation.h"

namespace chela::bus::stream {

// The values of streams: kept here, unless a function of a worker stands for an operation on a stream ("stream::set(<name>)"). Values are
// JSON text. Loop thread only.
class Values {
 public:
  // With `far` the values are those of another engine: only overrides are asked here.
  Values(Bus& bus, items::ItemLimits limits, FarValues* far = nullptr)
      : bus_(bus), items_(limits), far_(far) {}

  items::Items& items() { return items_; }

  // The function that stands for an operation; "" when there is none that the caller could call.
  std::string override_of(const op::CallContext& context, std::string_view operation,
                          std::string_view stream) const;
  // Calls it; "" = no result.
  Task<Result<std::string>> call_override(op::CallContext context, std::string function, json::Value data);

  // What subscribers are shown first: the item's value or null, the group's values; from the override where there is one.
  Task<Result<std::string>> show(op::CallContext context, Place place, std::optional<std::string> item);

  // A place's name in the items; `prefix` what all groups of a stream begin with.
  static std::string prefix(std::string_view stream);
  static std::string group(std::string_view stream, std::string_view group) {
    return prefix(stream) + std::string(group);
  }

  std::vector<std::string_view> groups(std::string_view tenant, std::string_view stream) const;
  struct Group {
    std::string_view stream;
    std::string_view group;
    auto operator<=>(const Group&) const = default;
  };
  // By stream.
  std::vector<Group> all(std::string_view tenant) const;

 private:
  Bus& bus_;
  items::Items items_;
  FarValues* const far_;
};

}  // namespace chela::bus::stream
