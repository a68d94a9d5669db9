#pragma once

#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace chela::log {

// Values that must not be seen. Thread-safe.
class Redaction {
 public:
  void add(std::string_view secret);  // ignored under kMinSecretBytes
  std::string apply(std::string_view text) const;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<std::string> secrets_;  // longest first, so that one inside another leaves nothing over
};

}  // namespace chela::log
