#include "security/failed_logins.h"

#include <arpa/inet.h>

#include <algorithm>
#include <chrono>

namespace chela::security {
namespace {

constexpr size_t kNetworkBytes = 8;  // of an IPv6 address

}  // namespace

std::string login_address(std::string_view peer) {
  std::string host(peer.substr(0, peer.rfind(':')));
  if (!host.starts_with('[') || !host.ends_with(']')) return host;
  host = host.substr(1, host.size() - 2);
  in6_addr address{};
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return host;
  std::fill(address.s6_addr + kNetworkBytes, std::end(address.s6_addr), std::uint8_t{0});
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &address, text, sizeof text);
  return text;
}

Result<> FailedLogins::begin(std::string_view address) {
  if (limits_.failures == 0) return {};
  auto found = counts_.find(address);
  if (found == counts_.end()) {
    if (counts_.size() >= limits_.addresses) make_room();
    found = counts_.emplace(address, Count{.began = clock_.steady()}).first;
  } else if (over(found->second)) {
    found->second = {.began = clock_.steady()};
  }
  Count& count = found->second;
  ++count.tries;
  if (count.tries <= limits_.failures) return {};
  return fail(Error{.code = Code::kRateLimited,
                    .message = "too many wrong tokens from this address; wait before the next",
                    .retry_after = std::chrono::ceil<std::chrono::milliseconds>(count.began + limits_.window -
                                                                                clock_.steady())});
}

void FailedLogins::forgive(std::string_view address) {
  const auto found = counts_.find(address);
  if (found != counts_.end() && --found->second.tries <= 0) counts_.erase(found);
}

void FailedLogins::make_room() {
  std::erase_if(counts_, [this](const auto& entry) { return over(entry.second); });
  if (counts_.size() < limits_.addresses) return;
  counts_.erase(std::min_element(counts_.begin(), counts_.end(), [](const auto& a, const auto& b) {
    return a.second.began < b.second.began;
  }));
}

}  // namespace chela::security
