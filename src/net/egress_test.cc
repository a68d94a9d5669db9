#include "net/egress.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

namespace chela::net {
namespace {

bool is_public(const std::string& text) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1)
    return is_public_address(reinterpret_cast<const sockaddr&>(v4));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr), 1) << text;
  return is_public_address(reinterpret_cast<const sockaddr&>(v6));
}

TEST(Egress, KnowsPublicAddresses) {
  for (const char* address :
       {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "198.17.0.1",
        "198.20.0.1", "223.255.255.255", "192.0.3.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8", "2002:808:808::1", "2001:4860:4860::8888"}) {
    EXPECT_TRUE(is_public(address)) << address;
  }
  for (const char* address : {"0.0.0.0",
                              "0.1.2.3",
                              "10.0.0.1",
                              "100.64.0.1",
                              "100.127.255.255",
                              "127.0.0.1",
                              "127.255.255.255",
                              "169.254.169.254",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.0.0.1",
                              "192.0.2.1",
                              "192.88.99.1",
                              "192.168.1.1",
                              "198.18.0.1",
                              "198.19.255.255",
                              "198.51.100.1",
                              "203.0.113.1",
                              "224.0.0.1",
                              "239.1.1.1",
                              "240.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::127.0.0.1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.0.0.1",
                              "::ffff:169.254.169.254",
                              "64:ff9b::10.0.0.1",
                              "64:ff9b::127.0.0.1",
                              "64:ff9b:1::1",
                              "100::1",
                              "2001::1",
                              "2001:10::1",
                              "2001:db8::1",
                              "2002:7f00:1::1",
                              "2002:a00:1::1",
                              "3fff::1",
                              "5f00::1",
                              "fc00::1",
                              "fd12::1",
                              "fe80::1",
                              "fec0::1",
                              "ff02::1"}) {
    EXPECT_FALSE(is_public(address)) << address;
  }
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  EXPECT_FALSE(is_public_address(reinterpret_cast<const sockaddr&>(local)));
}

TEST(Egress, StrictTakesPublicHttpsOnly) {
  const auto policy = EgressPolicy::strict(AllowPlain::kNo);
  for (const char* url : {"https://example.org/", "https://example.org:8443/x?y", "https://1.1.1.1/",
                          "https://[2606:4700::1111]/"}) {
    EXPECT_TRUE(policy->check_url(url)) << url;
  }
  for (const char* url :
       {"http://example.org/", "https://user@example.org/", "https://u:p@example.org/", "https://localhost/",
        "https://LOCALHOST./", "https://a.localhost/", "https://metadata.google.internal/",
        "https://metadata/", "https://printer.local/", "https://127.0.0.1/", "https://[::1]/",
        "https://[::ffff:7f00:1]/", "https://169.254.169.254/latest/", "https://10.1.2.3/",
        "https://[64:ff9b::7f00:1]/"}) {
    const Result<> checked = policy->check_url(url);
    ASSERT_FALSE(checked) << url;
    EXPECT_EQ(checked.error().code, Code::kPermissionDenied) << url;
  }
  for (const char* url : {"https://127.1/", "https://0x7f000001/", "https://2130706433/",
                          "gopher://example.org/", "file:///etc/passwd"}) {
    const Result<> checked = policy->check_url(url);
    ASSERT_FALSE(checked) << url;
    EXPECT_EQ(checked.error().code, Code::kInvalidArgument) << url;
  }
  EXPECT_TRUE(EgressPolicy::strict(AllowPlain::kYes)->check_url("http://example.org/"));
  EXPECT_FALSE(EgressPolicy::strict(AllowPlain::kYes)->check_url("http://192.168.0.1/"));
}

TEST(Egress, ExactTakesItsHostAndPortOnly) {
  const auto policy = *EgressPolicy::exact_url("http://Models.internal:8080/v1");
  EXPECT_TRUE(policy->check_url("http://models.internal:8080/v1/chat"));
  for (const char* url : {"http://models.internal/", "https://models.internal/", "http://other:8080/",
                          "http://models.internal.x:8080/"}) {
    EXPECT_EQ(policy->check_url(url).error().code, Code::kPermissionDenied) << url;
  }
  EXPECT_TRUE(EgressPolicy::exact_host("[::1]", 80)->check_url("http://[::1]/"));
  EXPECT_FALSE(EgressPolicy::exact_url("models.internal"));
}

TEST(Egress, MessagesShowNoQuery) {
  const Result<> checked = EgressPolicy::strict(AllowPlain::kNo)->check_url("http://example.org/?key=secret");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace chela::net
