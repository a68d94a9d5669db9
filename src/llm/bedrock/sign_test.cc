#include "llm/bedrock/sign.h"

#include <gtest/gtest.h>

namespace chela::llm::bedrock {
namespace {

constexpr UnixMs kNow = 1'440'938'160'000;  // 2015-08-30T12:36:00Z

// AWS's published example for Signature Version 4.
TEST(Sign, ThePublishedExample) {
  net::ClientRequest request{.url = "https://example.amazonaws.com/"};
  sign(request, {.access_key = "AKIDEXAMPLE", .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"},
       "us-east-1", "service", kNow);
  EXPECT_EQ(request.headers.value_or("X-Amz-Date"), "20150830T123600Z");
  EXPECT_EQ(request.headers.value_or("Authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(request.headers.find("X-Amz-Security-Token"), nullptr);
}

// The signature that AWS's own library makes of the same request.
TEST(Sign, EncodedPathsQueriesPortsBodiesAndTokens) {
  net::ClientRequest request{
      .method = "POST",
      .url = "http://h.example:8080/model/anthropic.claude-3%3A0/converse-stream?b&a=1",
      .body = R"({"a":1})"};
  request.headers.set("Content-Type", "application/json");
  request.headers.set("Accept", "not signed");
  sign(request, {.access_key = "AKID", .secret_key = "secret", .session_token = "token"}, "eu-west-1",
       "bedrock", kNow);
  EXPECT_EQ(request.headers.value_or("X-Amz-Security-Token"), "token");
  EXPECT_TRUE(request.headers.value_or("Authorization")
                  .ends_with("SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "
                             "Signature=a7dea04473a2bce7d37c152db4b015839ffe8671fe254f413dfca0097faaaf8b"))
      << request.headers.value_or("Authorization");
}

}  // namespace
}  // namespace chela::llm::bedrock
