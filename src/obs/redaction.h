#pragma once

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace chela::log {

// Every line is searched for each of these; more than a vault and a configuration hold together.
inline constexpr std::size_t kMaxMaskedSecrets = 2048;
inline constexpr std::size_t kMaxMaskedBytes = 16 * 1024 * 1024;  // of all of them

// Values that must not be seen. Past the limits those that were not added again for longest are forgotten. Thread-safe.
class Redaction {
 public:
  void add(std::string_view secret);  // ignored under kMinSecretBytes
  std::string apply(std::string_view text) const;

 private:
  mutable std::shared_mutex mutex_;
  struct Masked {
    std::string secret;
    std::uint64_t added;
  };
  std::vector<Masked> secrets_;  // longest first, so that one inside another leaves nothing over
  std::size_t bytes_ = 0;
  std::uint64_t additions_ = 0;
};

}  // namespace chela::log
