#include "agent/traces/scripted_http.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::agent::traces {
namespace {

class ScriptedHttpTest : public ::testing::Test {
 protected:
  Result<net::HttpResponse> get(std::string url, size_t max_body = kMaxClientBodyBytes) {
    return runtime::block_on(loop_, http_.fetch({.url = std::move(url),
                                                 .max_body = max_body,
                                                 .egress = net::EgressPolicy::strict(net::AllowPlain::kNo)},
                                                {}));
  }
  testing::ManualLoop loop_;
  ScriptedHttp http_{
      {{.method = "GET",
        .url = "https://a.example/1",
        .status = 201,
        .response_headers = {{"X-A", "b"}},
        .response_body = "one"},
       {.method = "GET", .url = "https://a.example/2", .status = 200, .response_body = "two"}}};
};

TEST_F(ScriptedHttpTest, AnswersInTheOrderOfTheTrace) {
  const auto first = get("https://a.example/1");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->status, 201);
  EXPECT_EQ(first->headers.value_or("x-a"), "b");
  EXPECT_EQ(first->body, "one");
  EXPECT_TRUE(http_.notes().empty());
  EXPECT_EQ(get("https://other.example/")->body, "two");
  EXPECT_EQ(http_.notes().size(), 1u);
  EXPECT_EQ(get("https://a.example/3")->status, 599);
  EXPECT_EQ(http_.notes().size(), 2u);
}

TEST_F(ScriptedHttpTest, WhatTheEgressRefusesIsRefused) {
  EXPECT_EQ(get("https://169.254.169.254/").error().code, Code::kPermissionDenied);
  EXPECT_EQ(get("http://a.example/").error().code, Code::kPermissionDenied);
  EXPECT_EQ(runtime::block_on(loop_, http_.fetch({.url = "https://a.example/"}, {})).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(get("https://a.example/1", 2).error().code, Code::kTooLarge);
}

TEST_F(ScriptedHttpTest, AStreamGivesTheSame) {
  auto stream = runtime::block_on(
      loop_,
      http_.open({.url = "https://a.example/1", .egress = net::EgressPolicy::strict(net::AllowPlain::kNo)},
                 {}));
  ASSERT_TRUE(stream);
  EXPECT_EQ((*stream)->status(), 201);
  EXPECT_EQ(**runtime::block_on(loop_, (*stream)->read({})), "one");
  EXPECT_FALSE(*runtime::block_on(loop_, (*stream)->read({})));
}

}  // namespace
}  // namespace chela::agent::traces
