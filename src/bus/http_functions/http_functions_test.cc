#include "bus/http_functions/http_functions.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "base/base64.h"
#include "bus/bus_fixture.h"
#include "bus/http_functions/limits.h"
#include "crypto/hash.h"

namespace chela::bus::http_functions {
namespace {

json::Value parse(std::string_view text) { return *json::parse(text); }

Result<Target> read(std::string_view text) {
  return Target::read(parse(text), [](const std::string& name) -> Result<std::string> {
    if (name == "KEY") return std::string("s3cret");
    if (name == "TWO_LINES") return std::string("a\nb");
    return fail(Code::kInvalidArgument, "the variable {} is not set", name);
  });
}

std::string header(const Target& target, std::string_view name, std::string_view body = "{}") {
  const Told told{.function_id = "f", .invocation_id = "i", .unix_seconds = 1700000000, .trace_id = "t"};
  return std::string(headers_of(target, told, body).value_or(name));
}

std::string refused(const Result<std::string>& result) {
  return result ? "" : fmt::format("{}: {}", result.error().detail("bus_code"), result.error().message);
}

TEST(HttpFunctionTarget, SaysWhoCallsWhatAndWhen) {
  const Result<Target> target =
      read(R"({"url":"https://x.example/f","headers":{"X-Own":"1","content-type":"text/x"}})");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->method, "POST");
  EXPECT_EQ(header(*target, "X-Own"), "1");
  EXPECT_EQ(header(*target, "Content-Type"), "application/json");
  EXPECT_EQ(header(*target, "x-iii-function-path"), "f");
  EXPECT_EQ(header(*target, "x-iii-invocation-id"), "i");
  EXPECT_EQ(header(*target, "x-iii-timestamp"), "1700000000");
  EXPECT_EQ(header(*target, "x-iii-trace-id"), "t");
}

TEST(HttpFunctionTarget, ProvesItselfInThreeWays) {
  const Target hmac = *read(R"({"url":"https://x.example","auth":{"type":"hmac","secret_key":"KEY"}})");
  EXPECT_EQ(header(hmac, "x-iii-signature", R"({"a":1})"),
            "sha256=" +
                crypto::to_hex(crypto::hmac_sha256("s3cret", "1700000000:" + base64::encode(R"({"a":1})"))));
  const Target bearer = *read(R"({"url":"https://x.example","auth":{"type":"bearer","token_key":"KEY"}})");
  EXPECT_EQ(header(bearer, "authorization"), "Bearer s3cret");
  const Target key =
      *read(R"({"url":"https://x.example","auth":{"type":"api_key","header":"X-Key","value_key":"KEY"}})");
  EXPECT_EQ(header(key, "x-key"), "s3cret");
}

TEST(HttpFunctionTarget, MistakesAreRefused) {
  for (const char* bad :
       {R"({})", R"({"url":"https://x","method":"BREW"})", R"({"url":"https://x","headers":[1]})",
        R"({"url":"https://x","headers":{"a b":"c"}})", R"({"url":"https://x","headers":{"a":"b\r\nc: d"}})",
        R"({"url":"https://x","auth":{"type":"magic"}})", R"({"url":"https://x","auth":{"type":"bearer"}})",
        R"({"url":"https://x","auth":{"type":"bearer","token_key":"NOT_SET"}})",
        R"({"url":"https://x","auth":{"type":"bearer","token_key":"TWO_LINES"}})",
        R"({"url":"https://x","auth":{"type":"api_key","header":"a b","value_key":"KEY"}})"})
    EXPECT_FALSE(read(bad)) << bad;
}

TEST(HttpFunctionTarget, TimesUrlsAndHeadersHaveLimits) {
  EXPECT_EQ(read(R"({"url":"https://x","timeout_ms":9999999})")->timeout, kMaxTimeout);
  EXPECT_EQ(read(R"({"url":"https://x","timeout_ms":0})")->timeout, 1ms);
  EXPECT_EQ(read(R"({"url":"https://x"})")->timeout, kDefaultTimeout);
  EXPECT_FALSE(read(fmt::format(R"({{"url":"https://x/{}"}})", std::string(kMaxUrlBytes, 'x'))));
  json::Value headers = json::Value::object();
  for (size_t i = 0; i <= kMaxHeaders; ++i) headers.set(fmt::format("h{}", i), "v");
  EXPECT_FALSE(read(json::write(json::Value::object({{"url", "https://x"}, {"headers", headers}}))));
}

TEST(HttpFunctionTarget, AnAnswerIsAResultOrAnError) {
  EXPECT_EQ(*result_of({.status = 200, .body = R"({"a":391.0})"}), R"({"a":391.0})");
  EXPECT_EQ(*result_of({.status = 204}), "");
  EXPECT_EQ(*result_of({.status = 302, .body = "moved"}), "");
  EXPECT_EQ(*result_of({.status = 302, .body = "1"}), "1");
  EXPECT_EQ(refused(result_of({.status = 200, .body = "<html>"})),
            "invalid_response: the function's answer is no JSON");
  EXPECT_EQ(refused(result_of({.status = 500})), "http_error: HTTP 500");
  EXPECT_EQ(refused(result_of({.status = 400, .body = R"({"error":{"code":"BAD","message":"no"}})"})),
            "BAD: no");
}

TEST(HttpFunctionGuard, HostsAreMatchedByPatterns) {
  EXPECT_TRUE(matches("*", "a.example"));
  EXPECT_TRUE(matches("*.example", "a.b.EXAMPLE"));
  EXPECT_FALSE(matches("*.example", "example"));
  EXPECT_TRUE(matches("a*c*e", "abcde"));
  EXPECT_FALSE(matches("a*c*e", "abcd"));
  EXPECT_FALSE(matches("", "a"));
  // Many stars cost no more than their number times the text.
  EXPECT_FALSE(matches(std::string(2000, '*') + "b", std::string(2000, 'a')));
}

TEST(HttpFunctionGuard, PlainPrivateAndUnlistedAddressesAreRefused) {
  const auto strict = guard({});
  EXPECT_TRUE(strict->check_url("https://a.example/x"));
  EXPECT_FALSE(strict->check_url("http://a.example/x"));
  EXPECT_FALSE(strict->check_url("ftp://a.example/x"));
  const auto listed = guard({.hosts = {"*.mine.example"}, .schemes = Schemes::kHttpToo});
  EXPECT_TRUE(listed->check_url("http://a.mine.example:8080/x"));
  EXPECT_FALSE(listed->check_url("https://mine.example.evil.example/"));
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  ASSERT_EQ(inet_pton(AF_INET6, "::ffff:10.0.0.1", &mapped.sin6_addr), 1);
  EXPECT_FALSE(strict->check_address(reinterpret_cast<sockaddr&>(local)));
  EXPECT_FALSE(strict->check_address(reinterpret_cast<sockaddr&>(mapped)));
  EXPECT_TRUE(guard({.addresses = Addresses::kAny})->check_address(reinterpret_cast<sockaddr&>(local)));
}

// Answers every request with what the test says, and keeps the last one.
class Imposter final : public net::HttpClient {
 public:
  Task<Result<net::HttpResponse>> fetch(net::ClientRequest request, std::stop_token) override {
    asked = std::move(request);
    co_return answer;
  }
  Task<Result<std::unique_ptr<net::ClientStream>>> open(net::ClientRequest, std::stop_token) override {
    co_return fail(Code::kUnsupported, "no streams");
  }
  net::ClientRequest asked;
  Result<net::HttpResponse> answer = net::HttpResponse{.status = 200, .body = R"({"ok":true})"};
};

class HttpFunctionsTest : public BusTest {
 protected:
  static json::Value frame(std::string_view id, std::string_view invocation) {
    return json::Value::object({{"type", "registerfunction"}, {"id", id}, {"invocation", parse(invocation)}});
  }

  Imposter http;
  HttpFunctions functions{{.loop = loop, .bus = *bus, .ids = ids, .http = http}, {}};
};

TEST_F(HttpFunctionsTest, ACallGoesToTheAddressAndItsAnswerIsTheResult) {
  Peer& owner = join();
  Peer& caller = join();
  owner.tell(frame("out::f", R"({"url":"https://x.example/f","timeout_ms":500})"));
  caller.call("out::f", parse(R"({"n":1})"));
  EXPECT_EQ(*caller.answer().find("result"), parse(R"({"ok":true})"));
  EXPECT_EQ(http.asked.url, "https://x.example/f");
  EXPECT_EQ(parse(http.asked.body).int_or("n", 0), 1);
  EXPECT_EQ(http.asked.max_redirects, 0);
  EXPECT_TRUE(http.asked.egress && http.asked.deadline);
  EXPECT_EQ(http.asked.max_body, kMaxAnswerBytes);
  http.answer = fail(Code::kPermissionDenied, "the host has a private address");
  caller.call("out::f");
  EXPECT_EQ(caller.answer().find("error")->string_or("code"), "url_validation_failed");
  http.answer = fail(Code::kTimeout, "too slow");
  caller.call("out::f");
  EXPECT_EQ(caller.answer().find("error")->string_or("code"), "http_request_failed");
}

TEST_F(HttpFunctionsTest, ItIsItsWorkersAndGoesWithIt) {
  Peer& owner = join();
  Peer& stranger = join({"bus:call"}, "bob");
  Peer& caller = join();
  owner.tell(frame("out::f", R"({"url":"https://x.example/f"})"));
  owner.leave();
  caller.call("out::f");
  EXPECT_EQ(caller.answer().find("error")->string_or("code"), "function_not_found");
  Peer& guest = join({"bus:call", "bus:register"});
  guest.tell(frame("out::g", R"({"url":"https://x.example/f"})"));
  stranger.call("out::g");
  EXPECT_EQ(stranger.answer().find("error")->string_or("code"), "function_not_found");
}

TEST_F(HttpFunctionsTest, AddressesAndVariablesAreCheckedAtTheRegistration) {
  Peer& owner = join();
  owner.tell(frame("out::f", R"({"url":"http://x.example/f"})"));
  EXPECT_EQ(owner.next("registrationrejected").string_or("function_id"), "out::f");
  owner.tell(
      frame("out::f", R"({"url":"https://x.example","auth":{"type":"bearer","token_key":"CHELA_NOT_SET"}})"));
  EXPECT_EQ(owner.next("registrationrejected").string_or("function_id"), "out::f");
  Peer& guest = join({"bus:call", "bus:register"});
  guest.tell(frame("out::f", R"({"url":"https://x.example","auth":{"type":"bearer","token_key":"PATH"}})"));
  EXPECT_EQ(guest.next("registrationrejected").string_or("function_id"), "out::f");
}

}  // namespace
}  // namespace chela::bus::http_functions
