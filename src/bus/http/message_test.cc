#include "bus/http/message.h"

#include "bus/bus_fixture.h"
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
      middleware_input(asked, match),
      R"({"phase":"preHandler","request":{"query_params":{"full":"2","e":"%zz"},"path_params":{"id":"7"},)"
      R"("headers":{"content-type":"application/json",)"
      "\"x-a\":\"1, 2\",\"cookie\":\"a=1; "
      "b=2\",\"x-bad\":\"\xef\xbf\xbd\"},\"method\":\"POST\"},\"context\":{}}");
}

class HttpInputTest : public BusTest {
 protected:
  HttpInputTest() {
    trigger.config = parse(R"({"api_path":"/a/:id","http_method":"POST"})");
    match = {.route = *Route::create(std::make_shared<const BoundTrigger>(trigger)),
             .parameters = {{"id", "7"}}};
  }
  std::string body_of(std::string content_type, std::string body) {
    net::HttpRequest asked = request("POST", {{"content-type", std::move(content_type)}});
    asked.body = std::move(body);
    const std::string text = function_input(asked, match, offer, scanner);
    const Result<json::Value> input = json::parse(text);
    EXPECT_TRUE(input) << text;
    EXPECT_EQ(input->as_object()->size(), 9U) << text;
    EXPECT_EQ(input->string_or("path"), "/a/:id");
    EXPECT_EQ(json::write(*input->find("trigger")), R"({"type":"http","path":"/a/:id","method":"POST"})");
    const json::Value& ref = *input->find("request_body");
    EXPECT_TRUE(
        channels.find(ref.string_or("channel_id"), ref.string_or("access_key"), channels::End::kRead));
    EXPECT_EQ(ref.string_or("direction"), "read");
    EXPECT_EQ(input->find("response")->string_or("direction"), "write");
    const size_t at = text.find("\"body\":") + 7;
    return text.substr(at, text.find(",\"trigger\"") - at);
  }

  BoundTrigger trigger{.type = "http", .function_id = "t::f"};
  Routes::Match match;
  channels::Channels channels{loop, ids, metrics};
  channels::Offer offer{channels, 1, [](channels::End, const channels::ChannelPtr&) {}};
  Scanner scanner;
};

TEST_F(HttpInputTest, AJsonBodyGoesInAsItsOwnBytes) {
  EXPECT_EQ(body_of("Application/JSON; charset=utf-8", R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(body_of("application/json", "\r\n{ \"a\" : [1.50, 391.0, 18446744073709551616] }\n"),
            R"({ "a" : [1.50, 391.0, 18446744073709551616] })");
  for (const char* value : {"1", "\"x\"", "null", "[]", "true", "-0.5e3"})
    EXPECT_EQ(body_of("application/json", value), value);
  EXPECT_EQ(body_of("text/plain", "1"), "null");
}

TEST_F(HttpInputTest, WhatIsNoJsonValueIsNull) {
  for (const char* bad : {"", " ", "{", "1 2", "1,\"trigger\":{}", "null},\"body\":{", "\"\xff\"", "\f1",
                          "01", "'a'", "{\"a\":1}}", "1,\"a\":2,\"b\":3"})
    EXPECT_EQ(body_of("application/json", bad), "null") << bad;
}

TEST(HttpMessage, WhichBodiesAreStreamedTheirHeadsSay) {
  const auto kind = [](std::string type, std::string length) {
    return body_kind(
        request("POST", {{"Content-Type", std::move(type)}, {"Content-Length", std::move(length)}}));
  };
  EXPECT_EQ(kind("application/json", std::to_string(kMaxJsonBytes)), BodyKind::kJson);
  EXPECT_EQ(kind("application/json; a=b", ""), BodyKind::kJson);
  EXPECT_EQ(kind("application/json", std::to_string(kMaxJsonBytes + 1)), BodyKind::kTooLong);
  EXPECT_EQ(kind("application/json", "99999999999999999999999"), BodyKind::kTooLong);
  EXPECT_EQ(kind("text/plain", "5"), BodyKind::kStreamed);
  EXPECT_EQ(body_kind(request("GET", {})), BodyKind::kStreamed);
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

// By its text as by its document, but for the bytes of the body.
TEST(HttpMessage, TheTextOfAValueIsTheSameResponse) {
  Scanner scanner;
  const auto of_text = [&scanner](std::string text) {
    return shown(response_of(Payload::of_text(std::move(text)), scanner));
  };
  for (const char* text :
       {R"({"status_code":201,"headers":{"X-A":"b","N":1},"body":{"k":[1]}})",
        R"({"status_code":204,"body":null})", R"({"status_code":200})", R"({"body":"text"})",
        R"({"headers":["Content-Type: text/html","X: y:z"],"body":"<p>\n"})",
        R"({"headers":{"content-type":"text/csv"},"body":[1]})", R"({"hello":"world"})", R"([1,2])",
        R"("text")", "7", R"({"headers":{"Set-Cookie":["a=1","b=2"]},"body":null})",
        R"({"st\u0061tus_code":404})", R"({"body":1,"body":2})", R"({"status_code":null,"headers":null})",
        R"({"status_code":101})", R"({"headers":{"a":"b\r\nc: d"}})"})
    EXPECT_EQ(of_text(text), shown(response_of(parse(text)))) << text;
  EXPECT_EQ(of_text(R"({"body": { "n" : 1.50 } })"), R"(200|Content-Type: application/json|{ "n" : 1.50 })");
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
