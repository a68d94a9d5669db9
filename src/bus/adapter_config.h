#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "bus/config_reader.h"

namespace chela::bus {

// What a module's `adapter: {class | name, config}` may name, in both dialects.
struct AdapterNames {
  std::span<const std::string_view> own;      // what is built in
  std::span<const std::string_view> foreign;  // what needs a server that this engine does not speak to
};

// The `config` of the adapter, {} when there is none. kInvalidArgument when the adapter is none that works here; the message says so.
// What is wrong with the module's own keys its reader tells.
Result<json::Value> adapter_config(ConfigReader& module, const AdapterNames& names);

}  // namespace chela::bus
