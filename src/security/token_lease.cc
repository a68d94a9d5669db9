#include "security/token_lease.h"

#include <algorithm>

namespace chela::security {
namespace {

// The wall clock may be set while a token lives, so its expiry is looked at again at least so often.
constexpr UnixMs kExpiryLookMs = 60'000;

}  // namespace

void TokenLeases::end(const std::string& token_id) {
  std::vector<std::stop_source> ending;  // those who are told may let their leases go
  const auto [first, last] = open_.equal_range(token_id);
  for (auto at = first; at != last; ++at) ending.push_back(at->second->source_);
  for (std::stop_source& source : ending) source.request_stop();
}

TokenLease::TokenLease(runtime::EventLoop& loop, TokenLeases& leases, const op::Principal& principal)
    : loop_(loop), leases_(leases), token_id_(principal.token_id), expires_(principal.expires) {
  if (!token_id_.empty()) leases_.open_.emplace(token_id_, this);
  watch_expiry();
}

TokenLease::~TokenLease() {
  if (timer_) loop_.cancel(*timer_);
  const auto [first, last] = leases_.open_.equal_range(token_id_);
  const auto own = std::find_if(first, last, [this](const auto& entry) { return entry.second == this; });
  if (own != last) leases_.open_.erase(own);
}

void TokenLease::watch_expiry() {
  if (!expires_) return;
  const UnixMs left = *expires_ - loop_.clock().now();
  if (left <= 0) {
    std::stop_source source = source_;  // outlives the lease, which those who are told may let go
    source.request_stop();
    return;
  }
  const std::chrono::milliseconds wait(std::min(left, kExpiryLookMs));
  timer_ = loop_.call_at(loop_.clock().steady() + wait, [this] {
    timer_.reset();
    watch_expiry();
  });
}

}  // namespace chela::security
