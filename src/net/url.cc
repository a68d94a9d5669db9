#include "net/url.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/strings.h"
#include "net/http.h"

namespace chela::net {
namespace {

constexpr size_t kMaxUrlBytes = 16 * 1024;
constexpr size_t kMaxHostBytes = 253;

bool is_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string encode_non_ascii(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char& c : text) {
    if (static_cast<unsigned char>(c) < 0x80) {
      out.push_back(c);
    } else {
      out += percent_encode(std::string_view(&c, 1));
    }
  }
  return out;
}

// Resolvers read "127.1", "0x7f.0.0.1" and "2130706433" as addresses. A host whose last label looks numeric must be plain a.b.c.d.
Result<> check_numeric_host(const std::string& host) {
  const size_t dot = host.rfind('.');
  const std::string_view last = std::string_view(host).substr(dot == std::string::npos ? 0 : dot + 1);
  const bool digits = std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits && !last.starts_with("0x")) return {};
  in_addr parsed{};
  char plain[INET_ADDRSTRLEN];
  if (inet_pton(AF_INET, host.c_str(), &parsed) == 1 && inet_ntop(AF_INET, &parsed, plain, sizeof plain) &&
      host == plain)
    return {};
  return fail(Code::kInvalidArgument, "the URL's host is a malformed IPv4 address; write it as a.b.c.d");
}

Result<std::string> parse_host(std::string_view text) {
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) return fail(Code::kInvalidArgument, "the URL has an unclosed '[' in its host");
    const std::string inner(text.substr(1, text.size() - 2));
    in6_addr parsed{};
    char plain[INET6_ADDRSTRLEN];
    if (inet_pton(AF_INET6, inner.c_str(), &parsed) != 1) {
      return fail(Code::kInvalidArgument, "the URL's host is a malformed IPv6 address");
    }
    return std::string(inet_ntop(AF_INET6, &parsed, plain, sizeof plain));
  }
  std::string host = strings::lower(text);
  if (host.ends_with('.')) host.pop_back();
  if (host.empty() || host.size() > kMaxHostBytes)
    return fail(Code::kInvalidArgument, "the URL has no valid host");
  for (const char c : host) {
    if (!is_alnum(c) && c != '-' && c != '.' && c != '_') {
      return fail(
          Code::kInvalidArgument,
          "the URL's host has characters that no host name has; write international names in punycode");
    }
  }
  if (host.contains("..") || host.starts_with('.'))
    return fail(Code::kInvalidArgument, "the URL's host has an empty label");
  if (Result<> numeric = check_numeric_host(host); !numeric) return fail(numeric.error());
  return host;
}

Result<std::uint16_t> parse_port(std::string_view text, std::string_view scheme) {
  if (text.empty()) return std::uint16_t(scheme == "https" ? 443 : 80);
  const auto port = strings::parse_int<std::uint16_t>(text);
  if (!port || *port == 0) return fail(Code::kInvalidArgument, "the URL's port is not between 1 and 65535");
  return *port;
}

Result<> check_characters(std::string_view text) {
  if (text.size() > kMaxUrlBytes)
    return fail(Code::kInvalidArgument, "the URL is longer than {} bytes", kMaxUrlBytes);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '\\') {
      return fail(Code::kInvalidArgument,
                  "the URL has white space, a control character or a backslash; percent-encode it");
    }
  }
  return {};
}

// RFC 3986, 5.2.4.
std::string remove_dot_segments(std::string_view path) {
  std::vector<std::string_view> kept;
  const std::vector<std::string_view> segments = strings::split(path.substr(1), '/');
  for (size_t i = 0; i < segments.size(); ++i) {
    const bool last = i + 1 == segments.size();
    if (segments[i] == "..") {
      if (!kept.empty()) kept.pop_back();
      if (last) kept.emplace_back();
    } else if (segments[i] == ".") {
      if (last) kept.emplace_back();
    } else {
      kept.push_back(segments[i]);
    }
  }
  std::string out;
  for (const std::string_view segment : kept) {
    out += '/';
    out += segment;
  }
  return out.empty() ? "/" : out;
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  if (Result<> ok = check_characters(text); !ok) return fail(ok.error());
  Url url;
  const size_t colon = text.find(':');
  url.scheme = colon == std::string_view::npos ? "" : strings::lower(text.substr(0, colon));
  if (url.scheme != "http" && url.scheme != "https")
    return fail(Code::kInvalidArgument, "the URL must start with http:// or https://");
  text.remove_prefix(colon + 1);
  if (!text.starts_with("//")) return fail(Code::kInvalidArgument, "the URL has no // after its scheme");
  text.remove_prefix(2);
  text = text.substr(0, text.find('#'));

  const size_t end = text.find_first_of("/?");
  std::string_view authority = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end);
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    url.userinfo = authority.substr(0, at);
    if (url.userinfo.contains('@'))
      return fail(Code::kInvalidArgument, "the URL has more than one '@' before its path");
    authority.remove_prefix(at + 1);
  }
  const size_t bracket = authority.rfind(']');
  const size_t port_colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  Result<std::string> host = parse_host(authority.substr(0, port_colon));
  if (!host) return fail(host.error());
  url.host = *std::move(host);
  const Result<std::uint16_t> port =
      parse_port(port_colon == std::string_view::npos ? std::string_view{} : authority.substr(port_colon + 1),
                 url.scheme);
  if (!port) return fail(port.error());
  url.port = *port;

  const size_t question = text.find('?');
  const std::string_view path = text.substr(0, question);
  url.path = path.empty() ? "/" : remove_dot_segments(encode_non_ascii(path));
  if (question != std::string_view::npos) url.query = encode_non_ascii(text.substr(question + 1));
  return url;
}

Result<Url> Url::resolve(std::string_view location) const {
  location = strings::trim(location);
  location = location.substr(0, location.find('#'));
  if (location.starts_with("//")) return parse(scheme + ":" + std::string(location));
  const size_t mark = location.find_first_of(":/?");
  if (mark != std::string_view::npos && location[mark] == ':') return parse(location);
  Url base = *this;
  base.userinfo.clear();
  base.query.clear();
  if (location.starts_with('?')) return parse(base.text() + std::string(location));
  base.path = location.starts_with('/') || location.empty() ? "" : path.substr(0, path.rfind('/') + 1);
  if (location.empty()) return *this;
  return parse(base.text() + std::string(location));
}

std::string Url::text() const {
  std::string out = scheme + "://";
  if (!userinfo.empty()) out += userinfo + "@";
  out += is_ipv6() ? "[" + host + "]" : host;
  if (port != (scheme == "https" ? 443 : 80)) out += ":" + std::to_string(port);
  out += path;
  if (!query.empty()) out += "?" + query;
  return out;
}

std::string Url::host_port() const {
  return (is_ipv6() ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace chela::net
