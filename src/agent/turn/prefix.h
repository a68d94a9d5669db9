#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llm/provider.h"

namespace chela::agent::turn {

// What a model call's prompt shares with the one before it on the thread: a provider's prompt cache serves what is the same from its beginning on.
enum class Prefix { kFirst, kKept, kChanged };
std::string_view prefix_name(Prefix prefix);  // "first", "kept", "changed"
std::optional<Prefix> prefix_from_name(std::string_view name);

struct PrefixNote {
  std::string hash =
      {};  // of model, tools and the first messages, those that the call before had; "" = not known
  std::int64_t messages = 0;  // how many these are; of a first call the system's
  Prefix is = Prefix::kFirst;

  bool operator==(const PrefixNote&) const = default;
};

// Follows the calls of one thread, in memory: after a restart the next call is a first one.
class PrefixTracker {
 public:
  PrefixNote next(const llm::Request& request, std::string_view tools_hash);

 private:
  std::string whole_;  // of the call before
  std::size_t messages_ = 0;
};

}  // namespace chela::agent::turn
