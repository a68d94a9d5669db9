#include "net/egress.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/strings.h"
#include "net/url.h"

namespace chela::net {
namespace {

struct Block4 {
  std::uint32_t network;
  int bits;
};

constexpr std::uint32_t ip4(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a << 24 | b << 16 | c << 8 | d;
}

// IANA's special-purpose registry, all that is not globally reachable.
constexpr std::array kSpecial4{
    Block4{ip4(0, 0, 0, 0), 8},        // this network, unspecified
    Block4{ip4(10, 0, 0, 0), 8},       // private
    Block4{ip4(100, 64, 0, 0), 10},    // shared by carriers
    Block4{ip4(127, 0, 0, 0), 8},      // loopback
    Block4{ip4(169, 254, 0, 0), 16},   // link-local, cloud metadata
    Block4{ip4(172, 16, 0, 0), 12},    // private
    Block4{ip4(192, 0, 0, 0), 24},     // protocol assignments
    Block4{ip4(192, 0, 2, 0), 24},     // documentation
    Block4{ip4(192, 88, 99, 0), 24},   // 6to4 relays
    Block4{ip4(192, 168, 0, 0), 16},   // private
    Block4{ip4(198, 18, 0, 0), 15},    // benchmarks
    Block4{ip4(198, 51, 100, 0), 24},  // documentation
    Block4{ip4(203, 0, 113, 0), 24},   // documentation
    Block4{ip4(224, 0, 0, 0), 4},      // multicast
    Block4{ip4(240, 0, 0, 0), 4},      // reserved, broadcast
};

bool public4(std::uint32_t address) {
  return std::ranges::none_of(kSpecial4, [address](const Block4& block) {
    const std::uint32_t mask = ~std::uint32_t{0} << (32 - block.bits);
    return (address & mask) == block.network;
  });
}

using Bytes16 = std::array<std::uint8_t, 16>;

struct Block6 {
  Bytes16 network;
  int bits;
};

// Special blocks inside 2000::/3; all outside it is refused as a whole.
constexpr std::array kSpecial6{
    Block6{{0x20, 0x01, 0x00}, 23},        // protocol assignments: Teredo, ORCHID, benchmarks, ...
    Block6{{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    Block6{{0x3f, 0xff, 0x00}, 20},        // documentation
};
constexpr Block6 kMapped{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
constexpr Block6 kNat64{{0x00, 0x64, 0xff, 0x9b}, 96};
constexpr Block6 kSixToFour{{0x20, 0x02}, 16};
constexpr Block6 kGlobalUnicast{{0x20}, 3};

bool inside(const Bytes16& address, const Block6& block) {
  const auto whole = static_cast<size_t>(block.bits / 8);
  if (!std::equal(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(whole),
                  block.network.begin()))
    return false;
  const int rest = block.bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return (address[whole] & mask) == (block.network[whole] & mask);
}

std::uint32_t embedded4(const Bytes16& a, size_t at) { return ip4(a[at], a[at + 1], a[at + 2], a[at + 3]); }

bool public6(const Bytes16& address) {
  if (inside(address, kMapped) || inside(address, kNat64)) return public4(embedded4(address, 12));
  if (inside(address, kSixToFour)) return public4(embedded4(address, 2));
  if (!inside(address, kGlobalUnicast)) return false;
  return std::ranges::none_of(kSpecial6, [&address](const Block6& block) { return inside(address, block); });
}

std::string address_text(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "an address of an unknown kind";
  if (address.sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  } else if (address.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text, sizeof text);
  }
  return text;
}

// Names that lead to the machine itself or to its cloud's metadata, whatever they resolve to.
bool is_local_name(std::string_view host) {
  constexpr std::array<std::string_view, 4> kNames{"localhost", "metadata", "instance-data", "metadata.goog"};
  constexpr std::array<std::string_view, 4> kSuffixes{".localhost", ".local", ".internal", ".localdomain"};
  return std::ranges::find(kNames, host) != kNames.end() ||
         std::ranges::any_of(kSuffixes, [host](std::string_view suffix) { return host.ends_with(suffix); });
}

bool is_public_literal(const Url& url) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (inet_pton(AF_INET, url.host.c_str(), &v4.sin_addr) == 1)
    return is_public_address(reinterpret_cast<const sockaddr&>(v4));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET6, url.host.c_str(), &v6.sin6_addr) == 1)
    return is_public_address(reinterpret_cast<const sockaddr&>(v6));
  return true;  // a name: its addresses are checked when they are known
}

class StrictPolicy final : public EgressPolicy {
 public:
  explicit StrictPolicy(AllowPlain plain) : plain_(plain) {}

  Result<> check_url(std::string_view text) const override {
    const Result<Url> url = Url::parse(text);
    if (!url) return fail(url.error());
    if (!url->userinfo.empty())
      return fail(Code::kPermissionDenied, "URLs with a user name or password are not allowed");
    if (url->scheme != "https" && plain_ == AllowPlain::kNo) {
      return fail(Code::kPermissionDenied, "only https is allowed, {} is plain http", url->host_port());
    }
    if (is_local_name(url->host) || !is_public_literal(*url)) {
      return fail(Code::kPermissionDenied, "{} is not a public host; only public hosts may be reached",
                  url->host_port());
    }
    return {};
  }

  Result<> check_address(const sockaddr& address) const override {
    if (is_public_address(address)) return {};
    return fail(Code::kPermissionDenied, "{} is not a public address; only public hosts may be reached",
                address_text(address));
  }

  Reach reach() const override { return Reach::kPublicOnly; }

 private:
  AllowPlain plain_;
};

class ExactHostPolicy final : public EgressPolicy {
 public:
  ExactHostPolicy(std::string host, std::uint16_t port) : host_(std::move(host)), port_(port) {}

  Result<> check_url(std::string_view text) const override {
    const Result<Url> url = Url::parse(text);
    if (!url) return fail(url.error());
    if (url->host == host_ && url->port == port_) return {};
    return fail(Code::kPermissionDenied, "only {}:{} is configured for this request, not {}", host_, port_,
                url->host_port());
  }

  Result<> check_address(const sockaddr&) const override { return {}; }
  Reach reach() const override { return Reach::kConfigured; }

 private:
  std::string host_;
  std::uint16_t port_;
};

}  // namespace

bool is_public_address(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return public4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  if (address.sa_family != AF_INET6) return false;
  Bytes16 bytes;
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, bytes.size());
  return public6(bytes);
}

std::shared_ptr<const EgressPolicy> EgressPolicy::strict(AllowPlain plain) {
  return std::make_shared<StrictPolicy>(plain);
}

std::shared_ptr<const EgressPolicy> EgressPolicy::exact_host(std::string_view host, std::uint16_t port) {
  std::string plain = strings::lower(host);
  if (plain.starts_with('[') && plain.ends_with(']')) plain = plain.substr(1, plain.size() - 2);
  if (plain.ends_with('.')) plain.pop_back();
  return std::make_shared<ExactHostPolicy>(std::move(plain), port);
}

Result<std::shared_ptr<const EgressPolicy>> EgressPolicy::exact_url(std::string_view url) {
  const Result<Url> parsed = Url::parse(url);
  if (!parsed) return fail(parsed.error());
  return exact_host(parsed->host, parsed->port);
}

}  // namespace chela::net
