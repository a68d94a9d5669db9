#include "obs/redaction.h"

#include <algorithm>
#include <mutex>

#include "base/strings.h"
#include "obs/log.h"

namespace chela::log {

void Redaction::add(std::string_view secret) {
  if (secret.size() < kMinSecretBytes) return;
  const std::unique_lock lock(mutex_);
  if (std::find(secrets_.begin(), secrets_.end(), secret) != secrets_.end()) return;
  secrets_.emplace_back(secret);
  std::sort(secrets_.begin(), secrets_.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

std::string Redaction::apply(std::string_view text) const {
  const std::shared_lock lock(mutex_);
  std::string out(text);
  for (const std::string& secret : secrets_) {
    if (out.find(secret) != std::string::npos)
      out = strings::replace_all(std::move(out), secret, "[redacted]");
  }
  return out;
}

}  // namespace chela::log
