#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/result.h"
#include "runtime/event_loop.h"

namespace chela::security {

// The part of a peer ("192.0.2.1:4000", "[2001:db8::1]:4000") that stands for one caller: the address of IPv4, the /64 network of
// IPv6, of which one host has all.
std::string login_address(std::string_view peer);

// Counts the wrong tokens of each remote address. Past the limit a wrong one is told to wait until the window is over. A right one is let
// through all the same: else whoever can make requests from an address could lock its owner out. Loop thread only.
//
// Of each try: begin() before anybody looks at the token, so that tries at one time see each other; forgive() unless the token was wrong.
class FailedLogins {
 public:
  struct Limits {
    int failures = kMaxFailedLogins;  // 0 = no limit
    std::chrono::milliseconds window = kFailedLoginWindow;
    size_t addresses = kMaxFailedLoginAddresses;
  };

  FailedLogins(const runtime::Clock& clock, Limits limits) : clock_(clock), limits_(limits) {}

  // Counts the try. kRateLimited, with the time to wait, when the address has had its tries: the answer to a wrong token then.
  Result<> begin(std::string_view address);
  // The try does not count.
  void forgive(std::string_view address);

 private:
  struct Count {
    SteadyTime began;
    std::int64_t tries = 0;
  };
  bool over(const Count& count) const { return clock_.steady() - count.began >= limits_.window; }
  void make_room();

  const runtime::Clock& clock_;
  const Limits limits_;
  std::map<std::string, Count, std::less<>> counts_;
};

}  // namespace chela::security
