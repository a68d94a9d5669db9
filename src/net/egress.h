#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::net {

enum class AllowPlain { kNo, kYes };

// Where a request may go. Immutable; shared by all requests of one caller. The client asks check_url() for the first URL and for
// each redirect, and check_address() for the very address it is about to connect to, so a name that resolves differently the second
// time (DNS rebinding) gains nothing.
class EgressPolicy {
 public:
  // For requests that a model or a tool makes up: https (http too with AllowPlain::kYes) to public addresses. Refuses user names in
  // the URL and every address that is private, loopback, link-local, shared (100.64/10), for benchmarks or documentation, multicast,
  // reserved or unspecified, also inside IPv6 forms (mapped, 6to4, NAT64), and the host names of cloud metadata services.
  static std::shared_ptr<const EgressPolicy> strict(AllowPlain plain);
  // For a destination that a person configured: this host and port only, private addresses allowed.
  static std::shared_ptr<const EgressPolicy> exact_host(std::string_view host, std::uint16_t port);
  // The same, for the host and port of a configured base URL.
  static Result<std::shared_ptr<const EgressPolicy>> exact_url(std::string_view url);

  virtual ~EgressPolicy() = default;

  // kInvalidArgument for what is no http(s) URL, kPermissionDenied for a refused one.
  virtual Result<> check_url(std::string_view url) const = 0;
  virtual Result<> check_address(const sockaddr& address) const = 0;

  // Whether environment proxies and connections opened for other callers may be used: only where the address does not matter.
  enum class Reach { kPublicOnly, kConfigured };
  virtual Reach reach() const = 0;
};

// True for globally reachable unicast addresses; false for every other one and for other families.
bool is_public_address(const sockaddr& address);

}  // namespace chela::net
