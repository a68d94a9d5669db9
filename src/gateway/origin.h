#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/http.h"

namespace chela::gateway {

// Which pages a browser may let talk to the gateway. A page of another site that has its name resolve to this machine (DNS rebinding) gives
// itself away by the Host header: on a loopback address only names of this machine are served. A caller that shows a token in the
// Authorization header is no such page, whatever its Host says: proxies and tunnels stay possible.
class OriginPolicy {
 public:
  OriginPolicy(std::string host, std::uint16_t port) : host_(std::move(host)), port_(port) {}

  // kPermissionDenied for a Host or Origin that is not this machine's, and for what a page of another site asks (Sec-Fetch-Site), except
  // a link to the page.
  Result<> check(const net::HttpRequest& request) const;

  // For a WebSocket, which browsers open without asking CORS: the Origin has to be there, and be this machine's or the gateway's own.
  // Not asked of a caller that shows its token in the Authorization header, which no page can.
  Result<> check_socket(const net::HttpRequest& request) const;

  // Adds the CORS headers when the page's origin is the gateway's own.
  void add_cors(const net::HttpRequest& request, net::Headers& headers) const;
  // Those of a preflight's answer.
  void add_preflight(const net::HttpRequest& request, net::Headers& headers) const;

 private:
  bool own(std::string_view origin) const;
  bool from_other_site(const net::HttpRequest& request) const;

  std::string host_;
  std::uint16_t port_;
};

// True for localhost, 127.0.0.0/8 and ::1, with or without brackets.
bool is_loopback_name(std::string_view host);

// "example.org:443" -> "example.org"; "[::1]:80" -> "[::1]".
std::string_view without_port(std::string_view authority);

}  // namespace chela::gateway
