#include "bus/http/route.h"

#include <gtest/gtest.h>

#include "bus/http/limits.h"

namespace chela::bus::http {
namespace {

class RoutesTest : public ::testing::Test {
 protected:
  static BoundTriggerPtr trigger(json::Value config, std::string tenant = "t") {
    static int count = 0;
    return std::make_shared<const BoundTrigger>(BoundTrigger{.key = fmt::format("k{}", ++count),
                                                             .id = "i",
                                                             .type = "http",
                                                             .function_id = "f",
                                                             .config = std::move(config),
                                                             .metadata = {},
                                                             .tenant = std::move(tenant),
                                                             .rights = {},
                                                             .owner = nullptr,
                                                             .ended = {}});
  }
  static json::Value config(std::string_view method, std::string_view path) {
    return json::Value::object({{"api_path", path}, {"http_method", method}});
  }

  BoundTriggerPtr add(std::string_view method, std::string_view path, std::string tenant = "t") {
    BoundTriggerPtr made = trigger(config(method, path), std::move(tenant));
    Result<RoutePtr> route = Route::create(made);
    EXPECT_TRUE(route) << path;
    const Result<> added = routes.add(*route);
    problem = added ? "" : added.error().message;
    return added ? made : nullptr;
  }
  // "path as registered a=1 b=2", or "".
  std::string find(std::string_view method, std::string_view path) {
    const auto steps = split_path(path);
    if (!steps) return "";
    const Routes::Match match = routes.find(method, *steps);
    if (!match.route) return fmt::format("{}", fmt::join(match.methods, ","));
    std::string text = match.route->path;
    for (const auto& [name, value] : match.parameters) text += fmt::format(" {}={}", name, value);
    return text;
  }

  Routes routes;
  std::string problem;
};

TEST_F(RoutesTest, ParametersFillWithWhatIsBetweenSlashes) {
  add("GET", "users/:id/posts/:post");
  add("GET", "/with/slash");
  add("GET", "/");
  EXPECT_EQ(find("GET", "/users/7/posts/a%20b"), "users/:id/posts/:post id=7 post=a b");
  EXPECT_EQ(find("GET", "/with/slash"), "/with/slash");
  EXPECT_EQ(find("GET", "/"), "/");
  EXPECT_EQ(find("GET", "/users/7/posts"), "");
  EXPECT_EQ(find("GET", "/users//posts/1"), "");
  EXPECT_EQ(find("GET", "/users/7/posts/1/"), "");
  EXPECT_EQ(find("GET", "/users/%zz/posts/1"), "");
  EXPECT_EQ(find("GET", "/users/%ff/posts/1"), "");
}

TEST_F(RoutesTest, TextGoesBeforeParametersAndIsGivenUpWhenItLeadsNowhere) {
  add("GET", "a/:x/c");
  add("GET", "a/b/:y");
  add("GET", "a/b/d");
  EXPECT_EQ(find("GET", "/a/b/d"), "a/b/d");
  EXPECT_EQ(find("GET", "/a/b/e"), "a/b/:y y=e");
  EXPECT_EQ(find("GET", "/a/z/c"), "a/:x/c x=z");
  add("POST", "a/:x/only");
  EXPECT_EQ(find("POST", "/a/b/only"), "a/:x/only x=b");
}

TEST_F(RoutesTest, OtherMethodsAreNamedAndHeadIsAnsweredByGet) {
  add("GET", "a");
  add("POST", "a");
  EXPECT_EQ(find("DELETE", "/a"), "GET,POST");
  EXPECT_EQ(find("HEAD", "/a"), "a");
}

TEST_F(RoutesTest, TheNewestOfTheSamePathServesAndTheOneBeforeItWhenItGoes) {
  const BoundTriggerPtr first = add("GET", "/a/:id");
  const BoundTriggerPtr second = add("GET", "a/:id");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(find("GET", "/a/1"), "a/:id id=1");
  routes.remove(*second);
  EXPECT_EQ(find("GET", "/a/1"), "/a/:id id=1");
  routes.remove(*first);
  routes.remove(*first);
  EXPECT_EQ(find("GET", "/a/1"), "");
  EXPECT_EQ(routes.size(), 0U);
}

TEST_F(RoutesTest, ConflictsAreRefusedAndLeaveTheFirstAsItWas) {
  add("GET", "c/:a/:b");
  EXPECT_FALSE(add("GET", "c/:b/:a"));
  EXPECT_TRUE(problem.contains("parameters of other names")) << problem;
  EXPECT_FALSE(add("POST", "c/:b/:a"));
  EXPECT_FALSE(add("GET", "c/:a/:b", "other"));
  EXPECT_TRUE(problem.contains("another user")) << problem;
  EXPECT_EQ(find("GET", "/c/1/2"), "c/:a/:b a=1 b=2");
  EXPECT_EQ(routes.size(), 1U);
}

// Text goes before parameters and HEAD is answered by GET: a route beside another user's could hear its clients.
TEST_F(RoutesTest, NoRouteTakesPathsOfAnotherUsers) {
  ASSERT_TRUE(add("GET", "users/:id", "one"));
  ASSERT_TRUE(add("GET", ":a/b/:c/d", "one"));
  for (const char* path :
       {"users/me", "users/:id", "users/:other", ":any/me", ":any/:id", "/:x/b/:y/:z", "x/b/c/d"}) {
    for (const char* method : {"GET", "HEAD", "OPTIONS", "POST"}) {
      EXPECT_FALSE(add(method, path, "two")) << method << " " << path;
      EXPECT_TRUE(problem.contains("another user")) << problem;
      EXPECT_FALSE(problem.contains(":a/b/:c/d")) << problem;
    }
  }
  EXPECT_EQ(routes.size(), 2U);
  EXPECT_EQ(find("GET", "/users/me"), "users/:id id=me");
  // Beside it there is room, and its owner may do as before.
  for (const char* path : {"users", "users/", "users/:id/posts", "others/me", "/", "x/c/c/d", "x/b/c/e"})
    EXPECT_TRUE(add("GET", path, "two")) << path << problem;
  EXPECT_FALSE(add("GET", "users/:id/:what", "one"));
  EXPECT_TRUE(add("GET", "users/me", "one"));
  EXPECT_TRUE(add("POST", "users/:id", "one"));
}

TEST_F(RoutesTest, PathsAreFreeWhenTheirUserHasGone) {
  const BoundTriggerPtr first = add("GET", "users/:id", "one");
  ASSERT_TRUE(first);
  ASSERT_FALSE(add("GET", "users/me", "two"));
  routes.remove(*first);
  EXPECT_TRUE(add("GET", "users/me", "two"));
  EXPECT_FALSE(add("GET", "users/:id", "one"));
  EXPECT_EQ(routes.size(), 1U);
}

TEST_F(RoutesTest, WhatIsNoRouteIsRefused) {
  for (const char* path : {"a//b", "//a", "a/:", "a/:b:c", ":a/:a", "a?b", "a b", "a/%zz"})
    EXPECT_FALSE(Pattern::parse(path)) << path;
  EXPECT_FALSE(Route::create(trigger(json::Value::object())));
  EXPECT_FALSE(Route::create(trigger(json::Value::object({{"api_path", 1}}))));
  EXPECT_FALSE(Route::create(trigger(config("BREW", "a"))));
  EXPECT_TRUE(Route::create(trigger(config("post", "a"))));
  EXPECT_FALSE(Route::create(
      trigger(json::Value::object({{"api_path", "a"}, {"middleware_function_ids", "no list"}}))));
  EXPECT_FALSE(Route::create(trigger(
      json::Value::object({{"api_path", "a"}, {"middleware_function_ids", json::Value::array({1})}}))));
}

TEST_F(RoutesTest, PathsAndMiddlewareHaveLimits) {
  EXPECT_TRUE(Pattern::parse(std::string(kMaxPathBytes, 'x')));
  EXPECT_FALSE(Pattern::parse(std::string(kMaxPathBytes + 1, 'x')));
  std::string many;
  for (size_t i = 0; i < kMaxSegments; ++i) many += "/x";
  EXPECT_TRUE(Pattern::parse(many));
  EXPECT_FALSE(Pattern::parse(many + "/x"));
  EXPECT_TRUE(split_path(many));
  EXPECT_FALSE(split_path(many + "/x"));
  json::Value list = json::Value::array();
  for (size_t i = 0; i <= kMaxMiddleware; ++i) list.push_back("f");
  EXPECT_FALSE(
      Route::create(trigger(json::Value::object({{"api_path", "a"}, {"middleware_function_ids", list}}))));
}

TEST_F(RoutesTest, ThereAreSoManyRoutesAndNotMore) {
  for (size_t i = 0; i < kMaxRoutes; ++i) add("GET", fmt::format("r/{}", i));
  EXPECT_EQ(problem, "");
  EXPECT_FALSE(add("GET", "one/more"));
  EXPECT_EQ(routes.size(), kMaxRoutes);
}

}  // namespace
}  // namespace chela::bus::http
