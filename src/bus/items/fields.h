#pragma once

#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bus/functions.h"
#include "bus/items/items.h"
#include "bus/wire.h"

namespace chela::bus::items {

// The members of a call's data. Views are valid as long as the data and this are, and until the scanner's next text.
class Fields {
 public:
  // kInvalidArgument when the data is no object.
  static Result<Fields> read(Scanner& scanner, std::string_view data);

  // A text that must be there. kInvalidArgument, kTooLarge past kMaxItemKeyBytes.
  Result<std::string_view> name(std::string_view key);
  // The same, "" when it is absent or null.
  Result<std::string_view> name_or_none(std::string_view key);
  // The bytes of the first of these that is there, null included. kInvalidArgument when none is.
  Result<std::string_view> raw(std::initializer_list<std::string_view> keys) const;

 private:
  explicit Fields(Envelope envelope) : envelope_(std::move(envelope)) {}

  Envelope envelope_;
};

// The data of a call that is about one item. Views as in Fields.
struct ItemCall {
  std::string tenant;
  Fields fields;
  std::string_view group;
  std::string_view key;

  Address address() const { return {.tenant = tenant, .group = group, .key = key}; }
};
// `group` and `key` are the names of these members.
Result<ItemCall> read_item(Scanner& scanner, const TextCall& call, std::string_view group,
                           std::string_view key);

// The error with the code that iii has for it, unless it has one already.
Failure coded(Error error, std::string_view code);

// What a call's data is not.
inline constexpr std::string_view kInputError = "serialization_error";

}  // namespace chela::bus::items
