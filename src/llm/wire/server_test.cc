// What has no socket; the rest is tested with the adapters, against servers.
#include "llm/wire/server.h"

#include <gtest/gtest.h>

namespace chela::llm::wire {
namespace {

TEST(RootUrl, UnderstandsTheFormsThatPeopleWrite) {
  for (const std::string_view form :
       {"https://h", "https://h/", "https://h/v1", " https://h/v1/ ", "https://h/v1/messages"})
    EXPECT_EQ(root_url(form, "/v1", "/messages")->text(), "https://h/v1") << form;
  EXPECT_EQ(root_url("https://h/anthropic", "/v1", "/messages")->text(), "https://h/anthropic/v1");
  EXPECT_EQ(root_url("https://h/plain/messages", "/v1", "/messages")->text(), "https://h/plain");
  EXPECT_EQ(root_url("https://h/v1beta", "/v1", "")->text(), "https://h/v1beta");
  EXPECT_EQ(root_url("localhost:80", "/v1", "").error().code, Code::kInvalidArgument);
}

TEST(UrlSegment, IsOneSegment) {
  EXPECT_EQ(url_segment("gemini-2.5_pro~x"), "gemini-2.5_pro~x");
  EXPECT_EQ(url_segment("a/../b:0?c%\u00e9"), "a%2F..%2Fb%3A0%3Fc%25%C3%A9");
}

TEST(IdsOf, AList) {
  const ErrorContext errors{.server = "h", .secrets = {}};
  EXPECT_EQ(*ids_of(errors, *json::parse(R"({"data":[{"id":"a"},{},7,{"id":"b"}]})"), "data", "id"),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(ids_of(errors, *json::parse(R"({"data":{}})"), "data", "id").error().code, Code::kUpstream);
}

}  // namespace
}  // namespace chela::llm::wire
