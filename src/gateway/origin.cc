#include "gateway/origin.h"

#include "base/strings.h"
#include "gateway/request_input.h"

namespace chela::gateway {

bool is_loopback_name(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (strings::iequals(host, "localhost") || host == "::1") return true;
  if (!host.starts_with("127.")) return false;
  const std::vector<std::string_view> parts = strings::split(host, '.');
  if (parts.size() != 4) return false;
  for (const std::string_view part : parts) {
    if (!strings::parse_int<std::uint8_t>(part)) return false;
  }
  return true;
}

std::string_view without_port(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.rfind(':'));
}

namespace {

// "http://localhost:3000" -> "localhost"; "" for anything else, "null" included.
std::string_view host_of_origin(std::string_view origin) {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return {};
  return without_port(origin.substr(scheme + 3));
}

}  // namespace

Result<> OriginPolicy::check(const net::HttpRequest& request) const {
  if (request.transport == net::Transport::kUnix || has_token_header(request)) return {};
  if (from_other_site(request))
    return fail(Code::kPermissionDenied, "pages of other sites may not use this gateway");
  if (!is_loopback_name(host_)) return {};
  if (const std::string* host = request.headers.find("Host");
      host && !is_loopback_name(without_port(*host))) {
    return fail(Code::kPermissionDenied, "the host '{}' is not this machine; use http://{}:{}", *host, host_,
                port_);
  }
  if (const std::string* origin = request.headers.find("Origin");
      origin && !is_loopback_name(host_of_origin(*origin))) {
    return fail(Code::kPermissionDenied, "pages of '{}' may not use this gateway", *origin);
  }
  return {};
}

// By what browsers say of themselves: an image or a form of another page has neither an Origin nor a foreign Host. A link to the page is
// followed as from anywhere; a page of this machine is judged by its Origin.
bool OriginPolicy::from_other_site(const net::HttpRequest& request) const {
  const std::string* site = request.headers.find("Sec-Fetch-Site");
  if (!site || *site != "cross-site") return false;
  const std::string* mode = request.headers.find("Sec-Fetch-Mode");
  const std::string* into = request.headers.find("Sec-Fetch-Dest");
  if (request.path == "/" && mode && *mode == "navigate" && (!into || *into == "document")) return false;
  const std::string* origin = request.headers.find("Origin");
  return !origin || !(own(*origin) || (is_loopback_name(host_) && is_loopback_name(host_of_origin(*origin))));
}

Result<> OriginPolicy::check_socket(const net::HttpRequest& request) const {
  if (request.transport == net::Transport::kUnix || has_token_header(request)) return {};
  const std::string* origin = request.headers.find("Origin");
  if (!origin) {
    return fail(Code::kPermissionDenied,
                "a WebSocket without an Authorization header needs an Origin header; send either");
  }
  const std::string* host = request.headers.find("Host");
  const size_t scheme = origin->find("://");
  const bool same = host && scheme != std::string::npos &&
                    strings::iequals(std::string_view(*origin).substr(scheme + 3), *host);
  if (same || is_loopback_name(host_of_origin(*origin))) return {};
  return fail(Code::kPermissionDenied, "pages of '{}' may not use this gateway", *origin);
}

bool OriginPolicy::own(std::string_view origin) const {
  const std::string port = fmt::format(":{}", port_);
  if (origin == "http://" + host_ + port || origin == "http://[" + host_ + "]" + port) return true;
  return origin == "http://localhost" + port;
}

void OriginPolicy::add_cors(const net::HttpRequest& request, net::Headers& headers) const {
  const std::string* origin = request.headers.find("Origin");
  if (!origin || !own(*origin)) return;
  headers.add("Access-Control-Allow-Origin", *origin);
  headers.add("Access-Control-Allow-Credentials", "true");
  headers.add("Access-Control-Expose-Headers", "X-Chela-Thread, Retry-After");
  headers.add("Vary", "Origin");
}

void OriginPolicy::add_preflight(const net::HttpRequest& request, net::Headers& headers) const {
  const std::string* origin = request.headers.find("Origin");
  if (!origin || !own(*origin)) return;
  headers.add("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE");
  headers.add("Access-Control-Allow-Headers",
              "Content-Type, Authorization, X-Api-Key, Anthropic-Version, Last-Event-ID, Idempotency-Key, "
              "X-Chela-Thread, "
              "X-Chela-Approvals");
  headers.add("Access-Control-Max-Age", "600");
}

}  // namespace chela::gateway
