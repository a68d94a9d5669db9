#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/task.h"

namespace chela::llm {

// Where what entries of providers name by a variable is looked up: the configuration, the environment of the start, and the owner's
// vault. Lives on the loop; owned by app/, outlives the providers.
class ProviderKeys {
 public:
  virtual ~ProviderKeys() = default;
  // "" when it is not set.
  virtual std::string variable(std::string_view name) const = 0;
  virtual bool in_vault(std::string_view name) const = 0;
  virtual Task<Result<std::string>> from_vault(std::string name) = 0;
  // Grows whenever a key may have become another one.
  virtual std::uint64_t changes() const = 0;
};

}  // namespace chela::llm
