#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "op/registry.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::op {
namespace {

using json::Value;

Task<Result<Value>> echo(CallContext, Value args) { co_return args; }

Value parsed(std::string_view text) { return json::parse(text).value(); }

Operation operation(
    std::string id, std::string method, std::string path,
    std::string_view in =
        R"({"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer","default":3},
                      "tags":{"type":"array","items":{"type":"string"}},"flag":{"type":"boolean"}},"additionalProperties":false})") {
  return Operation{.id = std::move(id),
                   .help = "Help.",
                   .in = parsed(in),
                   .permission = "jobs:read",
                   .routes = {Route{.method = std::move(method), .path = std::move(path)}},
                   .handler = ValueHandler(echo)};
}

TEST(Principal, PermissionsHaveWildcards) {
  const Principal some{.realm = "r", .user = "u", .permissions = {"memory:read", "tools:*", "bus:replace:*"}};
  EXPECT_TRUE(some.allows("memory:read"));
  EXPECT_FALSE(some.allows("memory:write"));
  EXPECT_TRUE(some.allows("tools:shell"));
  EXPECT_TRUE(some.allows("tools:shell:run"));
  EXPECT_FALSE(some.allows("tools"));
  EXPECT_FALSE(some.allows("toolshed:x"));
  EXPECT_TRUE(some.allows("bus:replace:llm::complete"));
  EXPECT_FALSE(some.allows("bus:call"));
  EXPECT_TRUE((Principal{.permissions = {"*"}}.allows("admin")));
  EXPECT_FALSE(Principal{}.allows("admin"));
}

TEST(Registry, FindsRoutesAndTellsWrongMethodFromNothing) {
  Registry registry;
  ASSERT_TRUE(registry.add(operation("job::get", "GET", "/api/jobs/{id}")));
  ASSERT_TRUE(registry.add(operation("job::summary", "GET", "/api/jobs/summary")));
  ASSERT_TRUE(registry.add(operation("job::cancel", "POST", "/api/jobs/{id}/cancel")));
  ASSERT_TRUE(registry.add(operation("job::drop", "DELETE", "/api/jobs/{id}")));

  const Match got = registry.match(Surface::kGateway, "GET", "/api/jobs/a%2Fb%20c%");
  ASSERT_TRUE(got);
  EXPECT_EQ(got.operation->id, "job::get");
  EXPECT_EQ(got.params, (Params{{"id", "a/b c%"}}));
  EXPECT_EQ(registry.match(Surface::kGateway, "GET", "/api/jobs/summary").operation->id, "job::summary");
  EXPECT_EQ(registry.match(Surface::kGateway, "POST", "/api/jobs/summary/cancel").operation->id,
            "job::cancel");

  const Match wrong = registry.match(Surface::kGateway, "PUT", "/api/jobs/7");
  EXPECT_FALSE(wrong);
  EXPECT_EQ(wrong.allowed, (std::vector<std::string>{"DELETE", "GET"}));
  for (const std::string_view nowhere :
       {"/api/jobs", "/api/jobs/", "/api/jobs/7/", "/api/jobs//cancel", "api/jobs/7", "", "/"}) {
    const Match none = registry.match(Surface::kGateway, "GET", nowhere);
    EXPECT_FALSE(none) << nowhere;
    EXPECT_TRUE(none.allowed.empty()) << nowhere;
  }
  EXPECT_FALSE(registry.match(Surface::kBus, "GET", "/api/jobs/7"));
  EXPECT_EQ(registry.list().size(), 4u);
  EXPECT_EQ(registry.find("job::drop")->id, "job::drop");
  EXPECT_EQ(registry.find("job::none"), nullptr);
}

TEST(Registry, TheRestOfAPathMayHoldSlashes) {
  Registry registry;
  ASSERT_TRUE(registry.add(operation("model::get", "GET", "/models/{id...}")));
  ASSERT_TRUE(registry.add(operation("model::files", "GET", "/models/{id}/files")));
  const auto id_of = [&](std::string_view path) {
    const Match match = registry.match(Surface::kGateway, "GET", path);
    return match ? match.operation->id + " " + match.params.at(0).second : "nothing";
  };
  EXPECT_EQ(id_of("/models/one"), "model::get one");
  EXPECT_EQ(id_of("/models/chela/default"), "model::get chela/default");
  EXPECT_EQ(id_of("/models/chela%2Fdefault"), "model::get chela/default");
  EXPECT_EQ(id_of("/models/a/b/c%20d/"), "model::get a/b/c d/");
  EXPECT_EQ(id_of("/models/a/files"), "model::files a");
  EXPECT_EQ(id_of("/models/a/files/b"), "model::get a/files/b");
  EXPECT_EQ(id_of("/models"), "nothing");
  EXPECT_EQ(id_of("/models/"), "nothing");
  EXPECT_EQ(id_of("/models//a"), "nothing");
  EXPECT_EQ(registry.match(Surface::kGateway, "POST", "/models/a/b").allowed,
            (std::vector<std::string>{"GET"}));
  EXPECT_EQ(registry.add(operation("x", "GET", "/models/{n...}")).error().code, Code::kConflict);
  EXPECT_EQ(registry.add(operation("x", "GET", "/x/{id...}/log")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(registry.add(operation("x", "GET", "/x/{...}")).error().code, Code::kInvalidArgument);
}

TEST(Registry, RefusesWhatExistsOrIsWrong) {
  Registry registry;
  ASSERT_TRUE(registry.add(operation("a", "GET", "/x/{id}")));
  EXPECT_EQ(registry.add(operation("a", "GET", "/y")).error().code, Code::kConflict);
  EXPECT_EQ(registry.add(operation("b", "GET", "/x/{n}")).error().code, Code::kConflict);
  EXPECT_EQ(registry.find("b"), nullptr);
  EXPECT_EQ(registry.add(operation("c", "GET", "x")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(registry.add(operation("c", "GET", "/x/{unknown}")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(registry.add(operation("c", "GET", "/x/a{id}")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(registry.add(operation("c", "GET", "/{id}/{id}")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(registry.add(operation("c", "GET", "/c", R"({"type":"wrong"})")).error().code,
            Code::kInvalidArgument);
  Operation events = operation("c", "GET", "/c");
  events.kind = Kind::kEvents;
  EXPECT_EQ(registry.add(events).error().code, Code::kInvalidArgument);
  Operation twice = operation("c", "GET", "/c");
  twice.routes.push_back(twice.routes.front());
  EXPECT_EQ(registry.add(twice).error().code, Code::kConflict);
  EXPECT_TRUE(registry.add(operation("c", "GET", "/c")));
}

TEST(Input, MergesPathQueryAndBodyWithTypes) {
  const Operation op = operation("a", "POST", "/x/{id}");
  const Result<Value> merged = merge_input(
      op, {{"id", "7"}}, {{"n", "5"}, {"tags", "a"}, {"tags", "b"}, {"flag", "true"}, {"other", "1"}},
      parsed(R"({"id":"body","n":1,"flag":false})"));
  ASSERT_TRUE(merged);
  EXPECT_EQ(*merged, parsed(R"({"id":"7","n":5,"flag":true,"tags":["a","b"],"other":"1"})"));
  EXPECT_EQ(merge_input(op, {}, {}, Value{}).value(), Value::object());
  EXPECT_EQ(merge_input(op, {}, {}, parsed("[1]")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(merge_input(op, {{"id", "\xff"}}, {}, Value{}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(merge_input(op, {}, {{"\xff", "x"}}, Value{}).error().code, Code::kInvalidArgument);
}

TEST(Input, TextOfAnyIntegerComesBackFromTheQuery) {
  const Operation op = operation("a", "GET", "/x/{id}");
  rc::check("query integers", [&](std::int64_t n, const std::string& id) {
    const std::string clean = json::parse(json::write(Value(id))).value().as_string()
                                  ? *json::parse(json::write(Value(id))).value().as_string()
                                  : "";
    const Value merged = merge_input(op, {{"id", clean}}, {{"n", std::to_string(n)}}, Value{}).value();
    RC_ASSERT(merged.int_or("n", n - 1) == n);
    RC_ASSERT(merged.string_or("id") == clean);
  });
}

TEST(Prepare, ChecksPermissionThenFillsAndValidates) {
  const Operation op = operation("a", "GET", "/x/{id}");
  const Principal reader{.realm = "r", .user = "u", .permissions = {"jobs:*"}};
  EXPECT_EQ(prepare(op, reader, parsed(R"({"id":"7"})")).value(), parsed(R"({"id":"7","n":3})"));
  EXPECT_EQ(prepare(op, reader, Value{}).value(), parsed(R"({"n":3})"));
  EXPECT_EQ(prepare(op, reader, parsed(R"({"x":1})")).error().code, Code::kUnprocessable);
  const Result<Value> denied = prepare(op, Principal{}, Value{});
  EXPECT_EQ(denied.error().code, Code::kPermissionDenied);
  EXPECT_EQ(denied.error().detail("permission"), "jobs:read");
  Operation open = op;
  open.permission = "";
  EXPECT_TRUE(prepare(open, Principal{}, Value{}));
}

TEST(Handler, IsCalledThroughTheOperation) {
  testing::ManualLoop loop;
  const Operation op = operation("a", "GET", "/x/{id}");
  const CallContext context{.headers = {{"x-chela-thread", "t"}}};
  EXPECT_EQ(context.header("x-chela-thread"), "t");
  EXPECT_EQ(context.header("missing"), "");
  const Result<Value> value = runtime::block_on(loop, std::get<ValueHandler>(op.handler)(context, Value(5)));
  EXPECT_EQ(value.value(), Value(5));
}

TEST(OpenApi, DescribesEveryRoute) {
  Registry registry;
  Operation cancel = operation(
      "job::cancel", "POST", "/api/jobs/{id}/cancel",
      R"({"type":"object","properties":{"id":{"type":"string"},"why":{"type":"string"}},"required":["id","why"]})");
  cancel.routes.front().status = 202;
  cancel.routes.push_back(Route{.method = "DELETE", .path = "/api/jobs/{id}"});
  ASSERT_TRUE(registry.add(cancel));
  Operation list = operation("job::list", "GET", "/api/jobs",
                             R"({"properties":{"limit":{"type":"integer","description":"How many."}}})");
  list.permission = "";
  ASSERT_TRUE(registry.add(list));
  Operation hidden = operation("job::bus", "GET", "/bus");
  hidden.routes.front().surface = Surface::kBus;
  ASSERT_TRUE(registry.add(hidden));

  const Value document = openapi(registry, Surface::kGateway, "Chela", "1.2.3");
  const Value& paths = *document.find("paths");
  EXPECT_EQ(document.string_or("openapi"), "3.1.0");
  EXPECT_EQ(paths.as_object()->size(), 3u);
  const Value& post = *paths.find("/api/jobs/{id}/cancel")->find("post");
  EXPECT_EQ(post.string_or("operationId"), "job::cancel");
  EXPECT_EQ(*post.find("parameters"),
            parsed(R"([{"name":"id","in":"path","required":true,"schema":{"type":"string"}}])"));
  const Value& body = *post.find("requestBody")->find("content")->find("application/json")->find("schema");
  EXPECT_EQ(body, parsed(R"({"type":"object","properties":{"why":{"type":"string"}},"required":["why"]})"));
  EXPECT_NE(post.find("responses")->find("202"), nullptr);
  EXPECT_EQ(post.string_or("x-permission"), "jobs:read");
  const Value& get = *paths.find("/api/jobs")->find("get");
  EXPECT_EQ(
      *get.find("parameters"),
      parsed(
          R"([{"name":"limit","in":"query","required":false,"description":"How many.","schema":{"type":"integer","description":"How many."}}])"));
  EXPECT_EQ(*get.find("security"), Value::array());
  EXPECT_EQ(get.find("requestBody"), nullptr);
  EXPECT_EQ(paths.find("/api/jobs/{id}")->find("delete")->string_or("operationId"),
            "job::cancel DELETE /api/jobs/{id}");
}

TEST(OpenApi, ARestOfThePathIsAParameterThatTakesSlashes) {
  Registry registry;
  ASSERT_TRUE(registry.add(operation("model::get", "GET", "/models/{id...}",
                                     R"({"type":"object","properties":{"id":{"type":"string"}}})")));
  const Value document = openapi(registry, Surface::kGateway, "Chela", "1.2.3");
  const Value* path = document.find("paths")->find("/models/{id}");
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(
      *path->find("get")->find("parameters"),
      parsed(
          R"([{"name":"id","in":"path","required":true,"schema":{"type":"string"},"description":"may hold slashes"}])"));
}

}  // namespace
}  // namespace chela::op
