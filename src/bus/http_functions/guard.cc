#include "bus/http_functions/guard.h"

#include <algorithm>

#include "base/strings.h"
#include "net/url.h"

namespace chela::bus::http_functions {
namespace {

class Guard final : public net::EgressPolicy {
 public:
  explicit Guard(Security security) : security_(std::move(security)) {}

  Result<> check_url(std::string_view url) const override {
    const Result<net::Url> parsed = net::Url::parse(url);
    if (!parsed) return fail(parsed.error());
    if (parsed->scheme != "https" && security_.schemes == Schemes::kHttps)
      return fail(Code::kPermissionDenied, "{} must be called over https (security.require_https)",
                  parsed->host_port());
    if (std::ranges::none_of(security_.hosts,
                             [&](const std::string& each) { return matches(each, parsed->host); }))
      return fail(Code::kPermissionDenied, "{} is not in security.url_allowlist", parsed->host_port());
    return {};
  }

  Result<> check_address(const sockaddr& address) const override {
    if (security_.addresses == Addresses::kAny || net::is_public_address(address)) return {};
    return fail(Code::kPermissionDenied, "the host has a private address (security.block_private_ips)");
  }

  Reach reach() const override {
    return security_.addresses == Addresses::kPublic ? Reach::kPublicOnly : Reach::kConfigured;
  }

 private:
  const Security security_;
};

}  // namespace

// Linear in the text for each star: the last star is all that is ever gone back to.
bool matches(std::string_view pattern, std::string_view text) {
  const std::string wanted = strings::lower(pattern), given = strings::lower(text);
  size_t p = 0, t = 0, star = std::string::npos, from = 0;
  while (t < given.size()) {
    if (p < wanted.size() && wanted[p] == '*') {
      star = p++;
      from = t;
    } else if (p < wanted.size() && wanted[p] == given[t]) {
      ++p;
      ++t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < wanted.size() && wanted[p] == '*') ++p;
  return p == wanted.size();
}

std::shared_ptr<const net::EgressPolicy> guard(Security security) {
  return std::make_shared<const Guard>(std::move(security));
}

}  // namespace chela::bus::http_functions
