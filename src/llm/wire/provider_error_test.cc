#include "llm/wire/provider_error.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "base/utf8.h"

namespace chela::llm::wire {
namespace {

constexpr UnixMs kNow = 784'111'777'000 - 5000;  // five seconds before Sun, 06 Nov 1994 08:49:37 GMT
const ErrorContext kContext{.server = "api:443", .secrets = {"sk-very-secret"}};

Error error_of(int status, std::string_view body, const net::Headers& headers = {}) {
  return from_response(kContext, status, headers, body, kNow);
}

TEST(ProviderError, StatusGivesTheCode) {
  const std::vector<std::pair<int, Code>> codes{
      {400, Code::kInvalidArgument},  {401, Code::kUnauthenticated}, {402, Code::kPermissionDenied},
      {403, Code::kPermissionDenied}, {404, Code::kNotFound},        {408, Code::kTimeout},
      {413, Code::kTooLarge},         {422, Code::kInvalidArgument}, {429, Code::kRateLimited},
      {500, Code::kUpstream},         {503, Code::kUpstream},        {529, Code::kUpstream},
      {302, Code::kUpstream}};
  for (const auto& [status, code] : codes) {
    const Error error = error_of(status, R"({"error":{"message":"so it is","type":"t","code":null}})");
    EXPECT_EQ(error.code, code) << status;
    EXPECT_EQ(error.detail("status"), fmt::to_string(status));
    EXPECT_NE(error.message.find("so it is"), std::string::npos);
  }
  EXPECT_EQ(error_of(302, "").detail("retry"), "no");
}

TEST(ProviderError, AnyBodyWillDo) {
  EXPECT_EQ(error_of(500, "").message, "api:443 answered 500 Internal Server Error");
  EXPECT_EQ(error_of(500, "plain\nwords").message, "api:443 answered 500 Internal Server Error: plain words");
  EXPECT_EQ(error_of(500, "<html><body>x").message, "api:443 answered 500 Internal Server Error");
  EXPECT_EQ(error_of(500, R"({"error":"text"})").message, "api:443 answered 500 Internal Server Error: text");
  EXPECT_EQ(error_of(500, R"({"message":"flat"})").message,
            "api:443 answered 500 Internal Server Error: flat");
  EXPECT_EQ(error_of(500, R"([{"error":{"message":"listed"}}])").message,
            "api:443 answered 500 Internal Server Error: listed");
  EXPECT_EQ(error_of(500, R"({"detail":"detailed"})").message,
            "api:443 answered 500 Internal Server Error: detailed");
  const Error long_one = error_of(500, std::string(50'000, 'x') + "\xff");
  EXPECT_LT(long_one.message.size(), kMaxProviderMessageBytes + 100);
  EXPECT_TRUE(utf8::valid(error_of(500, "a\xff").message));
}

TEST(ProviderError, NeverShowsTheKey) {
  for (const std::string_view body :
       {R"({"error":{"message":"Incorrect API key sk-very-secret"}})", "key sk-very-secret!"}) {
    const Error error = error_of(401, body);
    EXPECT_EQ(error.message.find("sk-very"), std::string::npos);
    EXPECT_NE(error.message.find("[redacted]"), std::string::npos);
  }
  // Also not a part of it at the place where a long message is cut.
  for (size_t at = kMaxProviderMessageBytes - 15; at <= kMaxProviderMessageBytes; ++at) {
    EXPECT_EQ(error_of(401, std::string(at, 'x') + "sk-very-secret").message.find("sk-"), std::string::npos);
  }
}

TEST(ProviderError, SeesWhenThePromptIsTooLong) {
  for (const std::string_view body : {
           R"({"error":{"message":"x","code":"context_length_exceeded"}})",
           R"({"error":{"message":"This model's maximum context length is 4096 tokens."}})",
           R"({"error":{"message":"x","type":"exceed_context_size_error","code":400}})",
           R"({"message":"prompt is too long: 9 tokens > 8 maximum"})",
       }) {
    EXPECT_EQ(error_of(400, body).detail("reason"), "context_length") << body;
  }
  EXPECT_EQ(error_of(413, R"({"error":{"message":"prompt is too long"}})").detail("reason"),
            "context_length");
  EXPECT_EQ(error_of(400, R"({"error":{"message":"bad temperature"}})").detail("reason"), "");
}

TEST(ProviderError, WordsOfOtherProviders) {
  const Error google =
      error_of(429, R"({"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[)"
                    R"({"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}})");
  EXPECT_EQ(google.code, Code::kRateLimited);
  EXPECT_EQ(google.retry_after, 34500ms);
  EXPECT_EQ(
      error_of(
          400,
          R"({"error":{"code":400,"message":"API key not valid","details":[{"reason":"API_KEY_INVALID"}]}})")
          .code,
      Code::kUnauthenticated);
  EXPECT_EQ(
      error_of(
          400,
          R"({"error":{"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}})")
          .detail("reason"),
      "context_length");
  EXPECT_EQ(error_of(400, R"({"message":"Input is too long for requested model."})").detail("reason"),
            "context_length");
  EXPECT_EQ(error_of(424, R"({"Message":"the model failed"})").code, Code::kUpstream);
  EXPECT_NE(error_of(424, R"({"Message":"the model failed"})").message.find("the model failed"),
            std::string::npos);
  EXPECT_EQ(
      error_of(529, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})").message,
      "api:443 answered 529 Unknown: Overloaded");
  EXPECT_EQ(from_error_value(kContext, *json::parse(R"({"type":"throttlingException","message":"x"})")).code,
            Code::kRateLimited);
}

TEST(ProviderError, AnEmptyAccountIsNotRetried) {
  const Error error =
      error_of(429, R"({"error":{"message":"x","type":"insufficient_quota","code":"insufficient_quota"}})");
  EXPECT_EQ(error.code, Code::kRateLimited);
  EXPECT_EQ(error.detail("retry"), "no");
}

TEST(RetryAfter, SecondsMillisecondsAndDates) {
  const auto after = [](std::initializer_list<std::pair<std::string, std::string>> fields) {
    return retry_after(net::Headers{.fields = fields}, kNow);
  };
  EXPECT_EQ(after({{"Retry-After", "20"}}), 20s);
  EXPECT_EQ(after({{"Retry-After", " 1.5 "}}), 1500ms);
  EXPECT_EQ(after({{"Retry-After", "0"}}), 0ms);
  EXPECT_EQ(after({{"retry-after-ms", "250"}, {"Retry-After", "20"}}), 250ms);
  EXPECT_EQ(after({{"Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"}}), 5s);
  EXPECT_EQ(after({{"Retry-After", "Sun, 06 Nov 1994 08:49:00 GMT"}}), 0ms);
  for (const std::string bad :
       {"", "-1", "soon", "1e3", "1.x", "99999999999999999999", "Sun, 06 Foo 1994 08:49:37 GMT"}) {
    EXPECT_EQ(after({{"Retry-After", bad}}), std::nullopt) << bad;
  }
  EXPECT_EQ(after({}), std::nullopt);
}

}  // namespace
}  // namespace chela::llm::wire
