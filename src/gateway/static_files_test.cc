#include "gateway/static_files.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace chela::gateway {
namespace {

constexpr StaticFile kFile{"/assets/a-1.js", "text/javascript; charset=utf-8", "abc", Lasting::kYes, "plain",
                           "packed"};

net::HttpResponse ask(std::initializer_list<std::pair<std::string, std::string>> headers,
                      StaticFile file = kFile) {
  net::HttpRequest request{.method = "GET", .path = std::string(file.path)};
  for (const auto& [name, value] : headers) request.headers.add(name, value);
  return static_reply(file, request);
}

TEST(StaticFiles, AreCompressedForWhoTakesIt) {
  for (const char* accepted : {"gzip", "deflate, GZIP;q=0.5, br", "*", "br, *;q=0.1"}) {
    const net::HttpResponse response = ask({{"Accept-Encoding", accepted}});
    EXPECT_EQ(response.body, "packed") << accepted;
    EXPECT_EQ(response.headers.value_or("Content-Encoding"), "gzip");
    EXPECT_EQ(response.headers.value_or("Vary"), "Accept-Encoding");
  }
  for (const char* accepted : {"", "br", "gzip;q=0", "gzip;q=0.000", "gzipped"}) {
    const net::HttpResponse response = ask({{"Accept-Encoding", accepted}});
    EXPECT_EQ(response.body, "plain") << accepted;
    EXPECT_EQ(response.headers.find("Content-Encoding"), nullptr);
  }
}

TEST(StaticFiles, AClientThatHasTheFileGetsNoBody) {
  const std::string tag(ask({{"Accept-Encoding", "gzip"}}).headers.value_or("ETag"));
  EXPECT_NE(tag, ask({}).headers.value_or("ETag"));
  for (const std::string& has : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    const net::HttpResponse response = ask({{"Accept-Encoding", "gzip"}, {"If-None-Match", has}});
    EXPECT_EQ(response.status, 304) << has;
    EXPECT_TRUE(response.body.empty());
    EXPECT_EQ(response.headers.value_or("ETag"), tag);
  }
  EXPECT_EQ(ask({{"If-None-Match", tag}}).status,
            200);  // it has the compressed form and asks for the plain one
  EXPECT_EQ(ask({{"If-None-Match", "\"other\""}}).status, 200);
}

TEST(StaticFiles, OnlyHashedNamesAreKeptWithoutAsking) {
  StaticFile document = kFile;
  document.path = "/";
  document.lasting = Lasting::kNo;
  EXPECT_EQ(ask({}, document).headers.value_or("Cache-Control"), "no-cache");
  EXPECT_NE(ask({}).headers.value_or("Cache-Control").find("immutable"), std::string_view::npos);
}

TEST(StaticFiles, ThePageIsThereAndNothingInItIsInline) {
  const StaticFile* page = find_static(page_files(), "/");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->type, "text/html; charset=utf-8");
  EXPECT_EQ(page->plain.find("<style"), std::string_view::npos);
  EXPECT_EQ(page->plain.find(" style="), std::string_view::npos);
  EXPECT_EQ(page->plain.find("http://"), std::string_view::npos);
  EXPECT_EQ(page->plain.find("https://"), std::string_view::npos);
  EXPECT_NE(page->plain.find("<script type=\"module\" crossorigin src=\"/assets/"), std::string_view::npos);
  EXPECT_EQ(find_static(page_files(), "/assets/none.js"), nullptr);
  for (const StaticFile& file : page_files()) {
    EXPECT_TRUE(is_static_path(file.path)) << file.path;
    EXPECT_EQ(file.gzip.substr(0, 2), "\x1f\x8b") << file.path;
    EXPECT_EQ(file.lasting == Lasting::kYes, file.path != "/") << file.path;
  }
}

}  // namespace
}  // namespace chela::gateway
