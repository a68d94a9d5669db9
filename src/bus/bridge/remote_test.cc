#include "bus/bridge/remote.h"

#include <gtest/gtest.h>

#include "bus/bridge/bridge_fixture.h"

namespace chela::bus::bridge {
namespace {

using json::Value;

Task<> keep(Task<Result<std::string>> call, std::vector<Result<std::string>>& out) {
  out.push_back(co_await std::move(call));
}

Task<Result<std::string>> echo(ServedCall call) { co_return std::move(call.data); }

class RemoteTest : public ::testing::Test {
 protected:
  ~RemoteTest() override {
    runtime::block_on(loop, remote.stop());
    runtime::block_on(loop, tasks.join());
  }
  void begin(RemoteCall call) { tasks.spawn(keep(remote.call(std::move(call)), outcomes)); }
  void start() {
    remote.start();
    loop.run_ready();
  }
  Value invoke(std::string_view function_id, std::string_view id = "i1") {
    return Value::object({{"type", "invokefunction"},
                          {"invocation_id", id},
                          {"function_id", function_id},
                          {"data", Value::object({{"a", 1}})}});
  }

  testing::ManualLoop loop;
  testing::CountingIds ids;
  FakeEngine engine{loop};
  Remote remote{{.loop = loop, .ids = ids, .connect = engine.connector()},
                {.where = "other:1", .name = "me", .service_id = "svc", .service_name = "Service"}};
  runtime::TaskGroup tasks{loop};
  std::vector<Result<std::string>> outcomes;
};

TEST_F(RemoteTest, SaysWhatItHasAndCalls) {
  remote.provide("ours", "a function", echo);
  remote.bind(
      {.id = "t1", .type = "state", .function_id = "ours", .config = Value::object({{"scope", "s"}})});
  start();
  EXPECT_TRUE(remote.connected());
  EXPECT_EQ(engine.next("registerservice").string_or("name"), "Service");
  EXPECT_EQ(engine.next("registerfunction").string_or("id"), "ours");
  EXPECT_EQ(engine.next("registertrigger").find("config")->string_or("scope"), "s");
  EXPECT_EQ(engine.next("invokefunction").find("data")->string_or("name"), "me");

  begin({.function_id = "theirs", .data = R"({"n":1.50})", .baggage = "chela.realm=r,chela.user=u,k=v"});
  loop.run_ready();
  const Value call = engine.next("invokefunction");
  EXPECT_EQ(call.string_or("function_id"), "theirs");
  EXPECT_EQ(call.string_or("baggage"), "k=v");
  engine.answer(call, Value::object({{"ok", true}}));
  loop.run_ready();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(*outcomes[0], R"({"ok":true})");

  engine.say(invoke("ours"));
  engine.say(invoke("unknown", "i2"));
  loop.run_ready();
  const Value first = engine.next("invocationresult");
  const Value second = engine.next("invocationresult");
  const Value& echoed = first.string_or("invocation_id") == "i1" ? first : second;
  const Value& refused = first.string_or("invocation_id") == "i1" ? second : first;
  EXPECT_EQ(echoed.find("result")->int_or("a", 0), 1);
  EXPECT_EQ(refused.find("error")->string_or("code"), "function_not_found");
}

TEST_F(RemoteTest, DataChannelsEndAtTheirEngine) {
  remote.provide("ours", "", echo);
  start();
  engine.got.clear();
  const Value ref = Value::object({{"channel_id", "c"}, {"access_key", "k"}, {"direction", "write"}});
  begin({.function_id = "theirs", .data = json::write(Value::object({{"writer", ref}}))});
  loop.run_ready();
  EXPECT_EQ(outcomes.at(0).error().code, Code::kUnsupported);
  EXPECT_TRUE(engine.next("invokefunction").is_null());
  Value call = invoke("ours");
  call.set("data", Value::object({{"writer", ref}}));
  engine.say(call);
  loop.run_ready();
  EXPECT_EQ(engine.next("invocationresult").find("error")->string_or("code"), "unsupported");
}

TEST_F(RemoteTest, ErrorsKeepTheirCode) {
  start();
  engine.got.clear();
  begin({.function_id = "theirs", .data = "{}"});
  loop.run_ready();
  engine.say(Value::object({{"type", "invocationresult"},
                            {"invocation_id", engine.next("invokefunction").string_or("invocation_id")},
                            {"error", Value::object({{"code", "FORBIDDEN"}, {"message", "no"}})}}));
  loop.run_ready();
  EXPECT_EQ(outcomes.at(0).error().code, Code::kPermissionDenied);
}

TEST_F(RemoteTest, ComesBackWithAllItHasAfterACut) {
  remote.provide("ours", "a function", echo);
  start();
  engine.got.clear();
  begin({.function_id = "theirs", .data = "{}"});
  loop.run_ready();
  engine.cut();
  loop.run_ready();
  EXPECT_EQ(outcomes.at(0).error().code, Code::kUnavailable);
  EXPECT_FALSE(remote.connected());
  engine.got.clear();
  begin({.function_id = "later", .data = "{}"});  // waits
  loop.advance(2 * kFirstRetry);
  EXPECT_TRUE(remote.connected());
  EXPECT_EQ(engine.next("reattach").string_or("reattach_token"), "t1");
  EXPECT_EQ(engine.next("registerfunction").string_or("id"), "ours");
  engine.next("invokefunction");  // who it is
  engine.answer(engine.next("invokefunction"), 7);
  loop.run_ready();
  EXPECT_EQ(*outcomes.at(1), "7");
}

TEST_F(RemoteTest, TriesAgainEverMoreSlowly) {
  engine.reachable = false;
  start();
  EXPECT_EQ(engine.connections, 1);
  loop.advance(kFirstRetry + kFirstRetry / 3);
  EXPECT_EQ(engine.connections, 2);
  loop.advance(kLastRetry * 10);
  const int before = engine.connections;
  loop.advance(kLastRetry * 8);
  EXPECT_LE(engine.connections - before, 8);
  EXPECT_GE(engine.connections - before, 4);
  begin({.function_id = "theirs", .data = "{}", .timeout = 10ms});
  loop.advance(10ms);
  EXPECT_EQ(outcomes.at(0).error().code, Code::kUnavailable);
  EXPECT_NE(outcomes.at(0).error().message.find("nobody can be reached"), std::string::npos);
}

TEST_F(RemoteTest, WaitsForAnAnswerOnlySoLong) {
  start();
  begin({.function_id = "theirs", .data = "{}"});
  loop.advance(kRemoteTimeout - 1ms);
  EXPECT_TRUE(outcomes.empty());
  loop.advance(1ms);
  EXPECT_EQ(outcomes.at(0).error().code, Code::kTimeout);
}

TEST_F(RemoteTest, HasOnlySoManyCallsUnanswered) {
  start();
  for (size_t i = 0; i < kMaxRemoteCalls; ++i) begin({.function_id = "theirs", .data = "{}"});
  EXPECT_TRUE(outcomes.empty());
  begin({.function_id = "theirs", .data = "{}"});
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].error().code, Code::kRateLimited);
  engine.cut();
  loop.run_ready();
  EXPECT_EQ(remote.open_calls(), 0u);
}

TEST_F(RemoteTest, ServesOnlySoManyCallsAtOnce) {
  struct Slow {
    static Task<Result<std::string>> run(std::vector<runtime::Completion<bool>>& gates,
                                         runtime::EventLoop& l) {
      const runtime::Completion<bool> gate(l);
      gates.push_back(gate);
      co_await gate;
      co_return std::string("1");
    }
  };
  std::vector<runtime::Completion<bool>> gates;
  remote.provide("slow", "", [this, &gates](ServedCall) { return Slow::run(gates, loop); });
  start();
  for (size_t i = 0; i <= kMaxServedCalls; ++i) engine.say(invoke("slow", fmt::format("i{}", i)));
  loop.run_ready();
  EXPECT_EQ(gates.size(), kMaxServedCalls);
  EXPECT_EQ(engine.next("invocationresult").find("error")->string_or("code"), "rate_limited");
  for (const runtime::Completion<bool>& gate : gates) gate.resolve(true);
  loop.run_ready();
  EXPECT_FALSE(engine.next("invocationresult").is_null());
}

TEST_F(RemoteTest, WhatCannotBeSaidBeginsAnew) {
  start();
  engine.full = true;
  remote.provide("ours", "", echo);
  loop.run_ready();
  EXPECT_FALSE(remote.connected());
  engine.full = false;
  engine.got.clear();
  loop.advance(2 * kFirstRetry);
  EXPECT_EQ(engine.next("registerfunction").string_or("id"), "ours");
}

}  // namespace
}  // namespace chela::bus::bridge
