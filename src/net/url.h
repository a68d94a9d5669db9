#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::net {

// An absolute http or https URL, taken apart and put together again by the same code: what a policy checked is, byte for byte, what
// the client connects to. Strict where parsers are known to disagree: white space, control characters, backslashes, percent signs or
// non-ASCII in the host, and numeric hosts other than a.b.c.d are refused.
struct Url {
  std::string scheme;      // "http" or "https"
  std::string userinfo;    // before '@', still percent-encoded
  std::string host;        // lower case, without brackets and trailing dot
  std::uint16_t port = 0;  // the scheme's default when not given
  std::string path = "/";  // percent-encoded, starts with '/'
  std::string query;       // percent-encoded, without '?'

  // kInvalidArgument, with the reason. A fragment is dropped; bytes past ASCII in path and query are percent-encoded.
  static Result<Url> parse(std::string_view text);
  // A Location header as seen from this URL.
  Result<Url> resolve(std::string_view location) const;

  std::string text() const;
  std::string host_port() const;  // "example.org:443", "[::1]:80": for messages
  bool is_ipv6() const { return host.find(':') != std::string::npos; }
  bool same_origin(const Url& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
};

}  // namespace chela::net
