#include "bus/baggage.h"
#include "bus/bus_fixture.h"

namespace chela::bus {
namespace {

using json::Value;

// Remembers how each call ended.
class Watching final : public Observer {
 public:
  Watch began(const Call& call) override {
    began_with.emplace_back(call.traceparent);
    return {.id = ++last, .traceparent = "00-0000000000000000000000000000000a-000000000000000b-01"};
  }
  void ended(std::uint64_t id, std::string_view code, std::string_view) override {
    ends.emplace_back(id, code);
  }
  void connected(const Worker&) override {}
  void gone(const Worker&) override {}
  void measured(std::string_view, std::string_view) override {}
  Value latest_metrics(const Worker&) const override { return {}; }

  std::uint64_t last = 0;
  std::vector<std::string> began_with;
  std::vector<std::pair<std::uint64_t, std::string>> ends;
};

class EngineCallsTest : public BusTest {
 protected:
  EngineCallsTest() { bus->set_observer(watching); }
  // The observer lives until the bus has stopped.
  ~EngineCallsTest() override {
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, bus->stop());
    runtime::block_on(loop, group.join());
  }

  op::CallContext context(std::set<std::string, std::less<>> permissions = {"*"}, std::string user = "ann") {
    const op::Principal principal{
        .realm = "default", .user = std::move(user), .permissions = std::move(permissions)};
    return {.principal = principal, .scope = principal.scope(), .stop = stop.get_token()};
  }
  Task<> wait(Task<Result<Value>> call) { got = co_await std::move(call); }
  void start(Task<Result<Value>> call) {
    got.reset();
    group.spawn(wait(std::move(call)));
    loop.run_ready();
  }
  std::string code() const { return got && !*got ? std::string(code_name(got->error().code)) : ""; }
  void answer(Peer& peer, const Value& call, Value result) {
    peer.tell(Value::object({{"type", "invocationresult"},
                             {"invocation_id", call.string_or("invocation_id")},
                             {"function_id", call.string_or("function_id")},
                             {"result", std::move(result)}}));
  }

  Watching watching;
  runtime::TaskGroup group{loop};
  std::stop_source stop;
  std::optional<Result<Value>> got;
};

TEST_F(EngineCallsTest, AMessageOfAQueueTakesItsTraceAndSaysWhoseItIs) {
  Peer& worker = join();
  worker.provide("f");
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  start(bus->deliver(context(), "f", Value::object({{"n", 1}}), trace, "k=v"));
  EXPECT_EQ(watching.began_with, std::vector{trace});
  const Value call = worker.next("invokefunction");
  EXPECT_EQ(call.string_or("traceparent"), "00-0000000000000000000000000000000a-000000000000000b-01");
  const std::string baggage = call.string_or("baggage");
  EXPECT_TRUE(baggage.contains("k=v")) << baggage;
  EXPECT_EQ(scope_in(baggage)->user, "ann");
  answer(worker, call, Value::object({{"m", 2}}));
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->int_or("m", 0), 2);
  EXPECT_EQ(watching.ends, (std::vector<std::pair<std::uint64_t, std::string>>{{1, ""}}));
}

TEST_F(EngineCallsTest, OnlyWhatTheContextMayIsCalledUnlessAnotherPermissionStandsForIt) {
  Peer& worker = join();
  worker.provide("f");
  start(bus->call(context({"tools:bus"}), "f", {}));
  EXPECT_EQ(code(), "permission_denied");
  start(bus->deliver(context({"tools:bus"}), "f", Value(), {}, {}));
  EXPECT_EQ(code(), "permission_denied");
  EXPECT_TRUE(worker.next("invokefunction").is_null());
  start(bus->call_permitted(context({"tools:bus"}), "f", {}));
  EXPECT_EQ(worker.serve(), "f");
  EXPECT_TRUE(got && *got);
}

TEST_F(EngineCallsTest, AReplacementIsAWorkerOfTheCallersOwnUser) {
  Peer& of_bob = join({"bus:*"}, "bob");
  of_bob.provide("memory::recall");
  const op::CallContext of_ann = context({"chat:write"});
  EXPECT_FALSE(bus->replaced("memory::recall", of_ann));
  Peer& of_anns = join({"bus:*"}, "ann");
  of_anns.provide("memory::recall");
  EXPECT_TRUE(bus->replaced("memory::recall", of_ann));
  start(bus->call_replacement(of_ann, "memory::recall", Value::object({{"query", "q"}})));
  const Value call = of_anns.next("invokefunction");
  EXPECT_EQ(call.find("data")->string_or("query"), "q");
  answer(of_anns, call, 7);
  EXPECT_EQ(**got, Value(7));
  of_anns.leave();
  EXPECT_FALSE(bus->replaced("memory::recall", of_ann));
}

TEST_F(EngineCallsTest, ACallThatIsGivenUpLeavesTheTableAtOnce) {
  Peer& worker = join();
  worker.provide("f");
  start(bus->call(context(), "f", {}));
  const Value first = worker.next("invokefunction");
  EXPECT_EQ(bus->open_calls(), 1u);
  stop.request_stop();
  loop.run_ready();
  EXPECT_EQ(code(), "cancelled");
  EXPECT_EQ(bus->open_calls(), 0u);
  EXPECT_EQ(worker.worker->calls_served, 1u) << "its worker works on it all the same";
  EXPECT_EQ(watching.ends, (std::vector<std::pair<std::uint64_t, std::string>>{{1, "cancelled"}}));
  stop = {};
  start(bus->call(context(), "f", {}));
  answer(worker, first, "late");  // and its answer is nobody's
  EXPECT_EQ(worker.worker->calls_served, 1u);
  EXPECT_FALSE(got);
  EXPECT_EQ(worker.serve(Value(5)), "f");
  EXPECT_EQ(**got, Value(5));
}

TEST_F(EngineCallsTest, WhoAsksAndLeavesHeapsOnlySoManyCallsOnAWorker) {
  Peer& worker = join();
  worker.provide("f");
  const auto ask_and_leave = [&] {
    stop = {};
    start(bus->call(context(), "f", {}));
    stop.request_stop();
    loop.run_ready();
  };
  for (size_t i = 0; i < kMaxCallsServed; ++i) ask_and_leave();
  EXPECT_EQ(code(), "cancelled");
  EXPECT_EQ(bus->open_calls(), 0u);
  ask_and_leave();
  EXPECT_EQ(code(), "unavailable");
  const Value first = worker.next("invokefunction");
  answer(worker, first, {});
  EXPECT_EQ(worker.worker->calls_served, kMaxCallsServed - 1);
  loop.advance(24h);
  EXPECT_EQ(worker.worker->calls_served, 0u) << "their time is over";
}

TEST_F(EngineCallsTest, WhatNoDocumentHoldsReachesNoFunctionOfTheEngine) {
  int called = 0;
  LocalFunction function{.spec = {.id = "local::f"}, .handler = [&called](LocalCall) -> Task<Result<Value>> {
                           ++called;
                           return [](Value value) -> Task<Result<Value>> { co_return value; }(Value());
                         }};
  ASSERT_TRUE(bus->add(std::move(function)));
  start(bus->deliver(context(), "local::f", Payload::of_text(R"({"text": "\ud800"})"), {}, {}));
  EXPECT_EQ(code(), "invalid_argument");
  EXPECT_EQ(called, 0);
  start(bus->deliver(context(), "local::f", Payload::of_text(R"({"text": "ok"})"), {}, {}));
  EXPECT_EQ(called, 1);
}

TEST_F(EngineCallsTest, AHeldRefusalReachesTheEngineThoughTheTriggersOwnerHasLeft) {
  Peer& owner = join();
  Peer& provider = join();
  provider.provide("f");
  auto trigger = std::make_shared<BoundTrigger>();
  trigger->id = "t";
  trigger->function_id = "f";
  trigger->config = Value::object();
  trigger->rights = owner.worker->rights;
  trigger->owner = owner.worker;
  start(bus->run_trigger(trigger, Value::object(), {}));
  const Value call = provider.next("invokefunction");
  provider.tell(
      Value::object({{"type", "invocationresult"},
                     {"invocation_id", call.string_or("invocation_id")},
                     {"function_id", "f"},
                     {"error", Value::object({{"code", "function_not_found"}, {"message", "no"}})}}));
  EXPECT_FALSE(got) << "it may be about to say that it gives the function up";
  owner.leave();
  loop.advance(kRefusalPatience);
  EXPECT_EQ(code(), "not_found");
}

TEST_F(EngineCallsTest, ADeadlineGivesACallUpToo) {
  Peer& worker = join();
  worker.provide("f");
  op::CallContext brief = context();
  brief.deadline = loop.clock().steady() + 5s;
  start(bus->call(brief, "f", {}));
  loop.advance(5s);
  EXPECT_EQ(code(), "timeout");
  EXPECT_EQ(bus->open_calls(), 0u);
  EXPECT_EQ(watching.ends.at(0).second, "timeout");
}

TEST_F(EngineCallsTest, WhatIsLentEndsWithTheCallThatIsGivenUp) {
  Peer& shared = join({"*"}, "root");  // an administrator's serves everybody
  shared.provide("f");
  start(bus->call(context({"bus:call"}), "f", {}));
  EXPECT_EQ(shared.worker->serving.size(), 1u);
  stop.request_stop();
  loop.run_ready();
  EXPECT_TRUE(shared.worker->serving.empty());
}

}  // namespace
}  // namespace chela::bus
