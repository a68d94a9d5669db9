#include "obs/redaction.h"

#include <algorithm>
#include <mutex>

#include "base/strings.h"
#include "obs/log.h"

namespace chela::log {

void Redaction::add(std::string_view secret) {
  if (secret.size() < kMinSecretBytes || secret.size() > kMaxMaskedBytes) return;
  const std::unique_lock lock(mutex_);
  const std::uint64_t now = ++additions_;
  const auto known = std::find_if(secrets_.begin(), secrets_.end(),
                                  [secret](const Masked& each) { return each.secret == secret; });
  if (known != secrets_.end()) {
    known->added = now;
    return;
  }
  while (!secrets_.empty() &&
         (secrets_.size() >= kMaxMaskedSecrets || bytes_ + secret.size() > kMaxMaskedBytes)) {
    const auto oldest = std::min_element(secrets_.begin(), secrets_.end(),
                                         [](const Masked& a, const Masked& b) { return a.added < b.added; });
    bytes_ -= oldest->secret.size();
    secrets_.erase(oldest);
  }
  bytes_ += secret.size();
  const auto place =
      std::upper_bound(secrets_.begin(), secrets_.end(), secret.size(),
                       [](std::size_t size, const Masked& each) { return size > each.secret.size(); });
  secrets_.insert(place, Masked{.secret = std::string(secret), .added = now});
}

std::string Redaction::apply(std::string_view text) const {
  const std::shared_lock lock(mutex_);
  std::string out(text);
  for (const auto& [secret, added] : secrets_) {
    if (out.find(secret) != std::string::npos)
      out = strings::replace_all(std::move(out), secret, "[redacted]");
  }
  return out;
}

}  // namespace chela::log
