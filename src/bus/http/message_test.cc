#include "bus/http/message.h"

#include <gtest/gtest.h>

#include "bus/http/cors.h"
#include "bus/http/failure.h"
#include "bus/http/limits.h"

namespace chela::bus::http {
namespace {

json::Value parse(std::string_view text) { return *json::parse(text); }

// "status|name: value|...|body".
std::string shown(const Result<net::HttpResponse>& response) {
  if (!response) return response.error().message;
  std::string text = std::to_string(response->status);
  for (const auto& [name, value] : response->headers.fields) text += fmt::format("|{}: {}", name, value);
  return text + "|" + response->body;
}

net::HttpRequest request(std::string method, std::vector<std::pair<std::string, std::string>> headers) {
  net::HttpRequest made{.method = std::move(method), .target = {}, .path = {}, .query = {}};
  made.headers.fields = std::move(headers);
  return made;
}

TEST(HttpMessage, ARequestIsShownWithLowerCaseHeadersAndTheLastOfRepeatedParameters) {
  net::HttpRequest asked = request("POST", {{"Content-Type", "application/json"},
                                            {"X-A", "1"},
                                            {"x-a", "2"},
                                            {"Cookie", "a=1"},
                                            {"Cookie", "b=2"},
                                            {"X-Bad", "\xff"}});
  asked.query = "full=1&full=2&e=%zz";
  const Routes::Match match{.route = nullptr, .parameters = {{"id", "7"}}};
  EXPECT_EQ(
      json::write(request_head(asked, match)),
      R"({"query_params":{"full":"2","e":"%zz"},"path_params":{"id":"7"},"headers":{"content-type":"application/json",)"
      "\"x-a\":\"1, 2\",\"cookie\":\"a=1; b=2\",\"x-bad\":\"\xef\xbf\xbd\"},\"method\":\"POST\"}");
}

TEST(HttpMessage, OnlyAJsonBodyIsParsed) {
  net::HttpRequest asked = request("POST", {{"content-type", "Application/JSON; charset=utf-8"}});
  asked.body = R"({"a":1})";
  EXPECT_EQ(json_body(asked), parse(R"({"a":1})"));
  asked.body = "{";
  EXPECT_TRUE(json_body(asked).is_null());
  asked = request("POST", {{"content-type", "text/plain"}});
  asked.body = "1";
  EXPECT_TRUE(json_body(asked).is_null());
}

TEST(HttpMessage, TheValueOfAFunctionIsAResponse) {
  EXPECT_EQ(shown(response_of(parse(R"({"status_code":201,"headers":{"X-A":"b","N":1},"body":{"k":[1]}})"))),
            R"(201|X-A: b|N: 1|Content-Type: application/json|{"k":[1]})");
  EXPECT_EQ(shown(response_of(parse(R"({"status_code":204,"body":null})"))), "204|");
  EXPECT_EQ(shown(response_of(parse(R"({"status_code":200})"))), "200|Content-Type: application/json|{}");
  EXPECT_EQ(shown(response_of(parse(R"({"body":"text"})"))), "200|Content-Type: application/json|\"text\"");
  EXPECT_EQ(shown(response_of(parse(R"({"headers":["Content-Type: text/html","X: y:z"],"body":"<p>"})"))),
            "200|Content-Type: text/html|X: y:z|<p>");
  EXPECT_EQ(shown(response_of(parse(R"({"headers":{"content-type":"text/csv"},"body":[1]})"))),
            "200|content-type: text/csv|[1]");
  EXPECT_EQ(shown(response_of(parse(R"({"headers":{"Set-Cookie":["a=1","b=2"]},"body":null})"))),
            "200|Set-Cookie: a=1|Set-Cookie: b=2|");
  EXPECT_EQ(shown(response_of(parse(R"({"hello":"world"})"))),
            R"(200|Content-Type: application/json|{"hello":"world"})");
}

TEST(HttpMessage, WhatCannotBeSentIsRefused) {
  for (const char* bad : {R"({"status_code":101})", R"({"status_code":600})", R"({"status_code":"200"})",
                          R"({"headers":{"a b":"c"}})", R"({"headers":{"a":"b\r\nc: d"}})",
                          R"({"headers":["nothing"]})", R"({"headers":[1]})", R"({"headers":"x"})"})
    EXPECT_FALSE(response_of(parse(bad))) << bad;
}

TEST(HttpMessage, MessagesOfTheResponseChannelSetStatusAndHeaders) {
  Head head;
  EXPECT_TRUE(apply_control(R"({"type":"set_status","status_code":206})", head));
  EXPECT_TRUE(apply_control(R"({"type":"set_headers","headers":{"a":"b"}})", head));
  for (const char* ignored : {"nonsense", "[]", R"({"type":"dance"})"})
    EXPECT_TRUE(apply_control(ignored, head));
  EXPECT_FALSE(apply_control(R"({"type":"set_status","status_code":99})", head));
  EXPECT_FALSE(apply_control(std::string(kMaxControlBytes + 1, ' '), head));
  EXPECT_EQ(head.status, 206);
  EXPECT_EQ(head.headers.value_or("a"), "b");
}

TEST(HttpMessage, AFailureSpeaksTheLanguageOfTheOwnersSdk) {
  Worker old, young;
  old.info.version = "0.3.0";
  young.info.version = "0.22.1";
  const auto body = [](const Failure& failure, const Worker* owner) {
    return response_of(failure, owner).body;
  };
  EXPECT_EQ(body(condition_not_met(), &old), R"({"error":"Request condition not met","skipped":true})");
  EXPECT_EQ(body(condition_not_met(), &young),
            R"({"error":{"code":"CONDITION_NOT_MET","message":"Request condition not met"},"skipped":true})");
  const Error error = Error{.code = Code::kUpstream, .message = "boom"}.with("bus_code", "invocation_failed");
  EXPECT_EQ(body(failed_call(error, "e1"), &old), R"({"error":"internal server error","error_id":"e1"})");
  EXPECT_EQ(body(failed_call(error, "e1"), &young),
            R"({"error":{"code":"invocation_failed","message":"boom","error_id":"e1"}})");
  EXPECT_EQ(body(not_found("GET", "/x"), nullptr),
            R"({"error":{"code":"NOT_FOUND","message":"nothing is served at GET /x"}})");
  EXPECT_EQ(failed_call(error, "").status, 500);
  EXPECT_EQ(failed_call({.code = Code::kRateLimited, .message = "full"}, "").status, 503);
}

TEST(HttpCors, WithoutSettingsAnythingIsAllowed) {
  const Cors cors({});
  const auto answer =
      cors.preflight(request("OPTIONS", {{"Origin", "https://a.example"},
                                         {"Access-Control-Request-Method", "PUT"},
                                         {"Access-Control-Request-Headers", "authorization, x-a"}}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.value_or("Access-Control-Allow-Origin"), "*");
  EXPECT_TRUE(answer->headers.value_or("Access-Control-Allow-Methods").contains("PUT"));
  EXPECT_EQ(answer->headers.value_or("Access-Control-Allow-Headers"), "authorization, x-a");
  EXPECT_FALSE(cors.preflight(request("OPTIONS", {{"Origin", "https://a.example"}})));
  EXPECT_FALSE(cors.preflight(request("GET", {{"Origin", "x"}, {"Access-Control-Request-Method", "PUT"}})));
}

TEST(HttpCors, ListsAreKeptAndAStarOpensThem) {
  const Cors cors({.origins = {"https://a.example"}, .methods = {"GET"}, .headers = {"X-A"}});
  const auto asked = [&](std::string origin) {
    return *cors.preflight(
        request("OPTIONS", {{"Origin", std::move(origin)}, {"Access-Control-Request-Method", "PUT"}}));
  };
  EXPECT_EQ(asked("https://a.example").headers.value_or("Access-Control-Allow-Origin"), "https://a.example");
  EXPECT_EQ(asked("https://b.example").headers.find("Access-Control-Allow-Origin"), nullptr);
  EXPECT_EQ(asked("https://a.example").headers.value_or("Access-Control-Allow-Methods"), "GET");
  EXPECT_EQ(asked("https://a.example").headers.value_or("Access-Control-Allow-Headers"), "X-A");
  net::Headers own;
  own.add("access-control-allow-origin", "https://mine.example");
  cors.allow(request("GET", {}), own);
  EXPECT_EQ(own.fields.size(), 1U);
  net::Headers open;
  Cors({.origins = {"x", "*"}}).allow(request("GET", {}), open);
  EXPECT_EQ(open.value_or("Access-Control-Allow-Origin"), "*");
}

}  // namespace
}  // namespace chela::bus::http
