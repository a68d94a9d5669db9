#include "net/http.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "net/http_parser.h"
#include "net/http_wire.h"
#include "net/url.h"

namespace chela::net {
namespace {

TEST(Headers, CompareWithoutCaseAndKeepOrder) {
  Headers headers;
  headers.add("Accept", "a");
  headers.add("X-Two", "1");
  headers.add("accept", "b");
  ASSERT_NE(headers.find("ACCEPT"), nullptr);
  EXPECT_EQ(*headers.find("ACCEPT"), "a");
  EXPECT_EQ(headers.count("Accept"), 2u);
  headers.set("accept", *headers.find("x-two"));
  EXPECT_EQ(headers.count("Accept"), 1u);
  EXPECT_EQ(headers.value_or("Accept"), "1");
  EXPECT_EQ(headers.find("missing"), nullptr);
}

TEST(Percent, DecodesAndEncodes) {
  EXPECT_EQ(percent_decode("a%20b%2Fc+d"), "a b/c+d");
  for (const char* bad : {"%", "%2", "%zz", "%00", "a%2"})
    EXPECT_EQ(percent_decode(bad), std::nullopt) << bad;
  EXPECT_EQ(percent_encode("a b/\xC3\xA9~"), "a%20b%2F%C3%A9~");
}

TEST(Query, SplitsAndKeepsWhatItCannotDecode) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(parse_query("a=1&b=x%20y+z&&c&d=1=2&e=%zz"),
            (Pairs{{"a", "1"}, {"b", "x y z"}, {"c", ""}, {"d", "1=2"}, {"e", "%zz"}}));
  EXPECT_TRUE(parse_query("").empty());
}

TEST(Wire, RefusesHeadersThatWouldSplitTheResponse) {
  Headers headers;
  headers.add("X-A", "one\r\nX-B: two");
  std::string out;
  EXPECT_FALSE(append_head(out, {.headers = headers, .date = "d"}));
  EXPECT_EQ(out, "");
  headers.set("X-A", "one");
  headers.add("Content-Length", "999");
  headers.add("Connection", "close");
  ASSERT_TRUE(append_head(out, {.headers = headers, .length = 3, .date = "d"}));
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nDate: d\r\nX-A: one\r\nContent-Length: 3\r\n\r\n");
}

TEST(Url, NormalizesAndPrintsWhatItParsed) {
  const auto text = [](std::string_view url) {
    const Result<Url> parsed = Url::parse(url);
    return parsed ? parsed->text() : "error";
  };
  EXPECT_EQ(text("HTTPS://Example.ORG"), "https://example.org/");
  EXPECT_EQ(text("http://example.org.:80/a/../b/./c?x=1#frag"), "http://example.org/b/c?x=1");
  EXPECT_EQ(text("http://u:p@h:8080/"), "http://u:p@h:8080/");
  EXPECT_EQ(text("http://[0:0::1]:81/p"), "http://[::1]:81/p");
  EXPECT_EQ(text("http://h/\xC3\xA9?\xC3\xA9"), "http://h/%C3%A9?%C3%A9");
  EXPECT_EQ(text("http://1.2.3.4"), "http://1.2.3.4/");
  for (const char* bad : {"",
                          "h",
                          "ftp://h/",
                          "http:/h",
                          "http://",
                          "http:///x",
                          "http://h:0/",
                          "http://h:65536/",
                          "http://h:8x/",
                          "http://h h/",
                          "http://h\\@x/",
                          "http://127.1/",
                          "http://0x7f.0.0.1/",
                          "http://2130706433/",
                          "http://0177.0.0.1/",
                          "http://1.2.3.4.5/",
                          "http://a@b@c/",
                          "http://h%2e/",
                          "http://[::1/",
                          "http://[zz]/",
                          "http://ex\xC3\xA4mple/",
                          "http://a..b/",
                          "http://h/\r\nX: y",
                          "http://[::1%25eth0]/",
                          "http://[::1]x/",
                          "file:///etc/passwd"}) {
    EXPECT_EQ(text(bad), "error") << bad;
  }
}

TEST(Url, ResolvesLocations) {
  const Url base = *Url::parse("http://u:p@h:81/a/b?q=1");
  const auto resolved = [&base](std::string_view location) {
    const Result<Url> url = base.resolve(location);
    return url ? url->text() : "error";
  };
  EXPECT_EQ(resolved("https://x/y"), "https://x/y");
  EXPECT_EQ(resolved("//x/y"), "http://x/y");
  EXPECT_EQ(resolved("/y"), "http://h:81/y");
  EXPECT_EQ(resolved("c"), "http://h:81/a/c");
  EXPECT_EQ(resolved("../c?d"), "http://h:81/c?d");
  EXPECT_EQ(resolved("?z"), "http://h:81/a/b?z");
  EXPECT_EQ(resolved("file:///etc/passwd"), "error");
}

struct Parsed {
  int refused = 0;
  HttpRequest request;
  std::string rest;
};

// Feeds the bytes in pieces of `step`.
Parsed parse(std::string_view bytes, size_t step, size_t max_body = 100, size_t max_header = 1000) {
  const std::function<size_t(std::string_view)> limit = [max_body](std::string_view) { return max_body; };
  RequestParser parser({.max_header_bytes = max_header, .body_limit = limit});
  RequestParser::State state = RequestParser::State::kNeedMore;
  while (!bytes.empty() && state == RequestParser::State::kNeedMore) {
    state = parser.feed(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  if (state == RequestParser::State::kRefused) return {.refused = parser.refusal().status};
  if (state == RequestParser::State::kNeedMore) return {.refused = -1};
  return {.request = parser.take_request(), .rest = parser.take_rest() + std::string(bytes)};
}

TEST(RequestParser, ReadsARequestHoweverItIsCut) {
  const std::string bytes =
      "\r\nPOST /a/b?c=d HTTP/1.1\r\nHost: h\r\nX-E:  f \r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;ext=1\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: t\r\n\r\nGET";
  for (size_t step = 1; step <= bytes.size(); ++step) {
    const Parsed parsed = parse(bytes, step);
    ASSERT_EQ(parsed.refused, 0) << step;
    EXPECT_EQ(parsed.request.method, "POST");
    EXPECT_EQ(parsed.request.target, "/a/b?c=d");
    EXPECT_EQ(parsed.request.path, "/a/b");
    EXPECT_EQ(parsed.request.query, "c=d");
    EXPECT_EQ(parsed.request.headers.value_or("x-e"), "f");
    EXPECT_EQ(parsed.request.headers.find("Trailer"), nullptr);
    EXPECT_EQ(parsed.request.body, "abc0123456789abcdef");
    EXPECT_EQ(parsed.rest, "GET");
  }
}

// The last chunk alone, byte by byte: the case on which Beast's own assertions fail.
TEST(RequestParser, ReadsAnEmptyChunkedBody) {
  const std::string bytes = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (size_t step = 1; step <= bytes.size(); ++step) EXPECT_EQ(parse(bytes, step).refused, 0) << step;
}

TEST(RequestParser, RefusesWhatCouldBeReadInTwoWays) {
  const auto status = [](std::string_view head, std::string_view body = "") {
    return parse(std::string(head) + "\r\n\r\n" + std::string(body), 7).refused;
  };
  EXPECT_EQ(
      status("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
      400);
  EXPECT_EQ(
      status("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3", "0\r\n\r\n"),
      400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3", "abc"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4", "abc"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3", "abc"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3", "abc"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 3", "abc"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked", "0\r\n\r\n"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked", "0\r\n\r\n"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                   "0\r\n\r\n"),
            400);
  EXPECT_EQ(status("POST / HTTP/1.0\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: a\r\nHost: b"), 400);
  EXPECT_EQ(status("GET a HTTP/1.1\r\nHost: a"), 400);
  EXPECT_EQ(status("GET / HTTP/2.0\r\nHost: a"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\nHost: a"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked", "3\r\nabcdef\r\n"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked", "xyz\r\n"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: h\r\nExpect: magic\r\nContent-Length: 3", "abc"), 417);
  EXPECT_EQ(status("GET / HTTP/1.0"), 0);
  EXPECT_EQ(status("GET http://other/p?q HTTP/1.1\r\nHost: h"), 0);
}

// A streamed body, read in pieces of `step`: what came of it, and its end as '.', or the status it was refused with.
std::string parse_stream(std::string_view bytes, size_t step, std::uint64_t max_body, bool drop = false) {
  const std::function<size_t(std::string_view)> whole = [](std::string_view) { return size_t{0}; };
  const StreamLimit limit = [max_body](const HttpRequest& head) -> std::optional<std::uint64_t> {
    EXPECT_EQ(head.headers.value_or("Host"), "h");
    return max_body;
  };
  RequestParser parser({.max_header_bytes = 100, .body_limit = whole, .stream_limit = limit});
  std::string all;
  RequestParser::State state = RequestParser::State::kNeedMore;
  std::uint64_t missing = max_body;
  while (!bytes.empty() && state == RequestParser::State::kNeedMore) {
    state = parser.feed(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
    if (!parser.head_done() || state == RequestParser::State::kRefused) continue;
    EXPECT_TRUE(parser.streams());
    if (all.empty()) all = parser.take_request().path + " ";
    if (drop) parser.drop_body();
    EXPECT_LE(parser.body_ahead(), step);
    all += parser.take_body();
    EXPECT_LE(parser.missing().value_or(0), missing);
    missing = parser.missing().value_or(missing);
  }
  if (state == RequestParser::State::kRefused) return fmt::format("{}{}", all, parser.refusal().status);
  if (state == RequestParser::State::kNeedMore) return all;
  EXPECT_EQ(parser.missing(), 0U);
  return all + "." + parser.take_rest() + std::string(bytes);
}

TEST(RequestParser, GivesABodyPieceByPieceHoweverItIsCut) {
  const std::string length = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789GET";
  const std::string chunked =
      "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n012\r\n07\r\n3456789\r\n"
      "0\r\nTrailer: t\r\n\r\nGET";
  for (size_t step = 1; step <= chunked.size(); ++step) {
    EXPECT_EQ(parse_stream(length, step, 10), "/a 0123456789.GET") << step;
    EXPECT_EQ(parse_stream(chunked, step, 10), "/a 0123456789.GET") << step;
    EXPECT_TRUE(parse_stream(length, step, 9).ends_with("413")) << step;
    EXPECT_TRUE(parse_stream(chunked, step, 9).ends_with("413")) << step;
    EXPECT_TRUE(parse_stream(chunked, step, 10, true).ends_with(".GET")) << step;
  }
  // Trailers are counted as headers are.
  std::string long_trailer = chunked;
  long_trailer.insert(long_trailer.find("Trailer"), "Long: " + std::string(100, 'x') + "\r\n");
  EXPECT_EQ(parse_stream(long_trailer, 1, 10), "/a 0123456789400");
  EXPECT_EQ(parse_stream("GET /b HTTP/1.1\r\nHost: h\r\n\r\n", 1, 10), "/b .");
}

TEST(RequestParser, LimitsHeadersAndBodies) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const size_t step : {1u, 11u, 100'000u}) {
    EXPECT_EQ(parse(head + "Content-Length: 100\r\n\r\n" + std::string(100, 'x'), step).refused, 0) << step;
    EXPECT_EQ(parse(head + "Content-Length: 101\r\n\r\n", step).refused, 413) << step;
    EXPECT_EQ(parse(head + "Content-Length: 18446744073709551615\r\n\r\n", step).refused, 413) << step;
    EXPECT_EQ(parse(head + "Transfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'x'), step).refused,
              413)
        << step;
    EXPECT_EQ(parse(head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", step).refused, 413)
        << step;
    EXPECT_EQ(parse(head + "X: " + std::string(2000, 'x') + "\r\n\r\n", step).refused, 431) << step;
    EXPECT_EQ(parse("GET /" + std::string(2000, 'x'), step).refused, 431) << step;
    std::string many = head;
    for (int i = 0; i < 200; ++i) many += "X-Header: 1\r\n";
    EXPECT_EQ(parse(many, step).refused, 431) << step;
    std::string small_fields = head;
    for (size_t i = 0; i <= kMaxHeaderFields; ++i) small_fields += "a:b\r\n";
    EXPECT_EQ(parse(small_fields + "\r\n", step, 100, 10'000).refused, 431) << step;
    EXPECT_EQ(parse(head + "Transfer-Encoding: chunked\r\n\r\n3;" + std::string(2000, 'x'), step).refused,
              400)
        << step;
    std::string trailers = head + "Transfer-Encoding: chunked\r\n\r\n0\r\n";
    for (int i = 0; i < 200; ++i) trailers += "T: 1234567\r\n";
    EXPECT_NE(parse(trailers, step).refused, 0) << step;
  }
}

}  // namespace
}  // namespace chela::net
