#include "bus/provider.h"

#include "bus/bus_fixture.h"

namespace chela::bus {
namespace {

using json::Value;

class Bells final : public TriggerProvider {
 public:
  Result<> bind(BoundTriggerPtr trigger) override {
    if (trigger->config.string_or("tone") == "shrill") return fail(Code::kInvalidArgument, "too shrill");
    bound.push_back(std::move(trigger));
    return {};
  }
  void release(const BoundTrigger& trigger) override {
    released.push_back(trigger.id);
    std::erase_if(bound, [&](const BoundTriggerPtr& each) { return each->key == trigger.key; });
  }

  std::vector<BoundTriggerPtr> bound;
  std::vector<std::string> released;
};

class Shelf final : public Enqueuer {
 public:
  Task<Result<std::string>> enqueue(op::CallContext context, EnqueueRequest request) override {
    if (request.queue != "default") co_return fail(Code::kNotFound, "Queue '{}' not found", request.queue);
    users.push_back(context.principal.user);
    requests.push_back(std::move(request));
    co_return "receipt-1";
  }

  std::vector<std::string> users;
  std::vector<EnqueueRequest> requests;
};

Value trigger(std::string_view id, std::string_view function_id, Value config = Value::object()) {
  return Value::object({{"type", "registertrigger"},
                        {"id", id},
                        {"trigger_type", "bell"},
                        {"function_id", function_id},
                        {"config", std::move(config)},
                        {"metadata", Value::object({{"room", 7}})}});
}

Value enqueue(std::string_view function_id, Value action) {
  return Value::object({{"type", "invokefunction"},
                        {"invocation_id", "c1"},
                        {"function_id", function_id},
                        {"data", Value::object({{"n", 1}})},
                        {"traceparent", "00-1-2-01"},
                        {"action", std::move(action)}});
}

std::string problem(const Value& frame) {
  const Value* error = frame.find("error");
  return error == nullptr ? "" : error->string_or("code") + ": " + error->string_or("message");
}

Task<Result<Value>> nothing() { co_return Value(); }

class ProviderTest : public BusTest {
 protected:
  ProviderTest() {
    EXPECT_TRUE(bus->add_trigger_type({.id = "bell", .description = "rings"}, bells));
    bus->set_enqueuer(shelf);
  }
  // Providers live until the bus has stopped.
  ~ProviderTest() override {
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, bus->stop());
    runtime::block_on(loop, group.join());
  }

  // Starts the run of the newest trigger; the answer lands in `ran`.
  Task<> run(BoundTriggerPtr bound, Value payload, FireOptions options) {
    ran = co_await bus->run_trigger(std::move(bound), std::move(payload), std::move(options));
  }
  Task<> ask(BoundTriggerPtr bound) {
    met = co_await bus->condition_met(std::move(bound), Value::object({{"n", 1}}));
  }
  void start(Value payload = Value::object({{"n", 1}}), FireOptions options = {}) {
    ran.reset();
    group.spawn(run(bells.bound.back(), std::move(payload), std::move(options)));
    loop.run_ready();
  }
  std::string code() const { return ran && !*ran ? std::string(code_name(ran->error().code)) : ""; }

  Bells bells;
  Bells gongs;
  Shelf shelf;
  runtime::TaskGroup group{loop};
  std::optional<Result<Value>> ran;
  std::optional<Result<bool>> met;
};

TEST_F(ProviderTest, ATriggerIsBoundAndItsRunIsACallOfItsOwner) {
  Peer& worker = join();
  worker.provide("w::on");
  worker.tell(trigger("t1", "w::on", Value::object({{"tone", "low"}})));
  ASSERT_EQ(bells.bound.size(), 1u);
  EXPECT_EQ(bells.bound[0]->config.string_or("tone"), "low");
  EXPECT_EQ(bells.bound[0]->tenant, tenant_of("default", "ann"));
  EXPECT_TRUE(worker.next("triggerregistrationresult").is_null());
  start(Value::object({{"n", 1}}), {.traceparent = "00-a-b-01", .baggage = "k=v"});
  EXPECT_EQ(worker.worker->calls_made, 1u);
  const Value call = worker.next("invokefunction");
  EXPECT_EQ(json::write(*call.find("data")), R"({"n":1})");
  EXPECT_EQ(json::write(*call.find("metadata")), R"({"room":7})");
  EXPECT_EQ(call.string_or("traceparent"), "00-a-b-01");
  EXPECT_EQ(call.string_or("baggage"), "k=v");
  worker.tell(Value::object({{"type", "invocationresult"},
                             {"invocation_id", call.string_or("invocation_id")},
                             {"function_id", "w::on"},
                             {"result", Value::object({{"status_code", 201}})}}));
  ASSERT_TRUE(ran && *ran);
  EXPECT_EQ(json::write(**ran), R"({"status_code":201})");
  EXPECT_EQ(worker.worker->calls_made, 0u);
}

TEST_F(ProviderTest, ARefusalReachesTheOwner) {
  Peer& worker = join();
  worker.tell(trigger("t1", "w::on", Value::object({{"tone", "shrill"}})));
  EXPECT_EQ(problem(worker.next("triggerregistrationresult")), "trigger_registration_failed: too shrill");
  worker.tell(trigger("t2", "w::on", Value("text")));
  EXPECT_NE(problem(worker.next("triggerregistrationresult")).find("is an object"), std::string::npos);
  worker.leave();
  EXPECT_TRUE(bells.released.empty());
}

TEST_F(ProviderTest, ATriggerEndsByUnregisteringByItsSuccessorAndWithItsOwner) {
  Peer& worker = join();
  worker.provide("w::on");
  for (const std::string_view id : {"t1", "t2"}) worker.tell(trigger(id, "w::on"));
  const BoundTriggerPtr first = bells.bound[0];
  worker.tell(Value::object({{"type", "unregistertrigger"}, {"id", "t1"}}));
  EXPECT_TRUE(first->ended.stop_requested());
  worker.tell(trigger("t2", "w::on", Value::object({{"tone", "low"}})));
  EXPECT_EQ(bells.released, (std::vector<std::string>{"t1", "t2"}));
  ASSERT_EQ(bells.bound.size(), 1u);
  const BoundTriggerPtr last = bells.bound[0];
  worker.leave();
  EXPECT_TRUE(bells.bound.empty());
  group.spawn(run(last, Value::object(), {}));
  loop.run_ready();
  EXPECT_EQ(code(), "unavailable");
}

TEST_F(ProviderTest, ARunGoesOnWhenItsOwnerLeavesAndFailsWhenItsCalleeDoes) {
  Peer& owner = join();
  Peer& callee = join();
  callee.provide("c::on");
  owner.tell(trigger("t1", "c::on"));
  start();
  owner.leave();
  EXPECT_FALSE(ran);
  EXPECT_EQ(callee.serve(), "c::on");
  ASSERT_TRUE(ran && *ran);
  Peer& other = join();
  other.tell(trigger("t2", "c::on"));
  start();
  callee.leave();
  ASSERT_TRUE(ran && !*ran);
  EXPECT_EQ(ran->error().detail("bus_code"), "invocation_stopped");
  start();
  EXPECT_EQ(code(), "not_found");
  EXPECT_EQ(bus->open_calls(), 0u);
}

TEST_F(ProviderTest, AnEndedTokenFiresNothing) {
  std::stop_source ended;
  peers.push_back(std::unique_ptr<Peer>(new Peer{.test = *this, .link = FakeLink(loop), .worker = {}}));
  Peer& worker = *peers.back();
  worker.worker = bus->connect(
      worker.link,
      {.principal = {.realm = "default", .user = "ann", .permissions = {"*"}}, .ended = ended.get_token()},
      "test");
  worker.provide("w::on");
  worker.tell(trigger("t1", "w::on"));
  ended.request_stop();
  start();
  EXPECT_EQ(code(), "permission_denied");
  bus->fire(bells.bound[0], Value::object());
  EXPECT_TRUE(worker.next("invokefunction").is_null());
}

TEST_F(ProviderTest, ARunEndsWithItsDeadlineAndWithItsStop) {
  Peer& worker = join();
  worker.provide("w::on");
  worker.tell(trigger("t1", "w::on"));
  start(Value::object(), {.deadline = loop.clock().steady() + 5s});
  loop.advance(5s);
  EXPECT_EQ(code(), "timeout");
  std::stop_source stop;
  start(Value::object(), {.stop = stop.get_token()});
  stop.request_stop();
  loop.run_ready();
  EXPECT_EQ(code(), "cancelled");
}

TEST_F(ProviderTest, TooManyUnansweredCallsOfAnOwnerRefuseItsTriggers) {
  Peer& worker = join();
  worker.provide("w::on");
  worker.tell(trigger("t1", "w::on"));
  worker.worker->calls_made = kMaxCallsMade;
  start();
  EXPECT_EQ(code(), "rate_limited");
  worker.worker->calls_made = 0;
}

TEST_F(ProviderTest, OnlyFalseIsNo) {
  Peer& worker = join();
  worker.provide("w::on");
  worker.provide("w::if");
  for (const std::string_view key : {"condition_function_id", "_condition_path"}) {
    worker.tell(trigger("t1", "w::on", Value::object({{std::string(key), "w::if"}})));
    for (const auto& [said, expected] : std::initializer_list<std::pair<Value, bool>>{
             {Value(false), false}, {Value(), true}, {Value(0), true}, {Value("false"), true}}) {
      met.reset();
      group.spawn(ask(bells.bound[0]));
      EXPECT_EQ(worker.serve(said), "w::if");
      ASSERT_TRUE(met && *met);
      EXPECT_EQ(**met, expected) << json::write(said);
    }
  }
  worker.tell(trigger("t1", "w::on", Value::object({{"condition_function_id", "w::gone"}})));
  group.spawn(ask(bells.bound[0]));
  loop.run_ready();
  ASSERT_TRUE(met && !*met);
  EXPECT_EQ(met->error().code, Code::kNotFound);
}

TEST_F(ProviderTest, FiringLooksAtTheConditionAndWaitsForNothing) {
  Peer& worker = join();
  worker.provide("w::on");
  worker.provide("w::if");
  worker.tell(trigger("t1", "w::on", Value::object({{"condition_function_id", "w::if"}})));
  bus->fire(bells.bound[0], Value::object({{"n", 1}}), "00-a-b-01");
  EXPECT_EQ(worker.serve(Value(false)), "w::if");
  EXPECT_TRUE(worker.next("invokefunction").is_null());
  bus->fire(bells.bound[0], Value::object({{"n", 2}}), "00-a-b-01");
  EXPECT_EQ(worker.serve(Value(true)), "w::if");
  const Value call = worker.next("invokefunction");
  EXPECT_EQ(call.string_or("function_id"), "w::on");
  EXPECT_EQ(json::write(*call.find("data")), R"({"n":2})");
  EXPECT_EQ(call.string_or("traceparent"), "00-a-b-01");
}

TEST_F(ProviderTest, OnlyTheEngineSaysThatACallNeverBegan) {
  Peer& worker = join();
  worker.tell(trigger("t1", "w::on"));
  start();
  EXPECT_EQ(code(), "not_found");
  EXPECT_TRUE(never_begun(ran->error()));
  worker.provide("w::on");
  start();
  const Value call = worker.next("invokefunction");
  worker.tell(
      Value::object({{"type", "invocationresult"},
                     {"invocation_id", call.string_or("invocation_id")},
                     {"function_id", "w::on"},
                     {"error", Value::object({{"code", "function_not_found"}, {"message", "inside"}})}}));
  loop.advance(kRefusalPatience);
  EXPECT_EQ(code(), "not_found");
  EXPECT_FALSE(never_begun(ran->error()));
}

TEST_F(ProviderTest, PayloadsThatWaitForAConditionAreBounded) {
  Peer& worker = join();
  worker.provide("w::on");
  worker.provide("w::if");
  worker.tell(trigger("t1", "w::on", Value::object({{"condition_function_id", "w::if"}})));
  const std::string large(kMaxCallBytes / 4, 'x');
  for (int i = 0; i < 8; ++i) bus->fire(bells.bound[0], Value(large));
  loop.run_ready();
  EXPECT_GT(worker.worker->call_bytes, kMaxCallBytes / 2);
  EXPECT_LE(worker.worker->call_bytes, kMaxCallBytes);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(worker.serve(Value(false)), "w::if");
  EXPECT_EQ(worker.worker->call_bytes, 0u);
  EXPECT_TRUE(worker.next("invokefunction").is_null());
}

TEST_F(ProviderTest, FunctionsOfTheEngineThatFireEachOtherComeToAnEnd) {
  size_t rung = 0;
  ASSERT_TRUE(bus->add({.spec = {.id = "own::ring"}, .handler = [this, &rung](LocalCall call) {
                          ++rung;
                          bus->fire(bells.bound[0], call.data, call.traceparent, call.baggage);
                          return nothing();
                        }}));
  join().tell(trigger("t1", "own::ring"));
  bus->fire(bells.bound[0], Value::object({{"n", 1}}));
  loop.run_ready();
  EXPECT_EQ(rung, kMaxFiredHops);
}

TEST_F(ProviderTest, WaitingTriggersAreBoundWhenTheTypeAppears) {
  Peer& worker = join();
  Value frame = trigger("t1", "w::on");
  frame.set("trigger_type", "gong");
  worker.call("engine::workers::register", Value::object({{"name", "w"}, {"version", "0.11.6"}}));
  worker.tell(frame);
  EXPECT_NE(problem(worker.next("triggerregistrationresult")).find("waits until"), std::string::npos);
  ASSERT_TRUE(bus->add_trigger_type({.id = "gong", .description = ""}, gongs));
  EXPECT_EQ(gongs.bound.size(), 1u);
  EXPECT_EQ(bus->add_trigger_type({.id = "gong", .description = ""}, gongs).error().code, Code::kConflict);
  worker.tell(Value::object({{"type", "registertriggertype"}, {"id", "gong"}, {"description", ""}}));
  EXPECT_EQ(bus->triggers().find_type("gong", worker.worker->view)->provider, &gongs);
  worker.leave();
  EXPECT_EQ(gongs.released.size(), 1u);
}

Task<Result<Value>> who(LocalCall call) {
  co_return Value::object({{"caller", call.caller ? call.caller->id : "none"},
                           {"user", call.context.principal.user},
                           {"traceparent", call.traceparent},
                           {"data", std::move(call.data)}});
}

TEST_F(ProviderTest, AFunctionOfTheEngineIsRunWithoutACaller) {
  ASSERT_TRUE(bus->add({.spec = {.id = "own::who"}, .handler = who}));
  Peer& worker = join();
  worker.tell(trigger("t1", "own::who"));
  start(Value::object({{"n", 1}}), {.traceparent = "00-a-b-01"});
  ASSERT_TRUE(ran && *ran);
  EXPECT_EQ(json::write(**ran), R"({"caller":"none","user":"ann","traceparent":"00-a-b-01","data":{"n":1}})");
  EXPECT_EQ(worker.worker->calls_made, 0u);
}

Task<Result<std::string>> spell(TextCall call) {
  if (call.data == "null") co_return "";
  if (call.data == "{}") co_return fail(Code::kNotFound, "nothing to spell");
  co_return fmt::format(R"({{"user":"{}","text":{}}})", call.context.principal.user, call.data);
}

TEST_F(ProviderTest, AFunctionOfTextIsCalledByWorkersTriggersAndTheEngine) {
  ASSERT_TRUE(bus->add({.spec = {.id = "own::spell"}, .text = spell}));
  Peer& worker = join();
  worker.say(
      R"({"type":"invokefunction","invocation_id":"c1","function_id":"own::spell","data":{"n": 1.50 }})");
  EXPECT_EQ(json::write(*worker.answer().find("result")), R"({"user":"ann","text":{"n":1.5}})");
  worker.call("own::spell");
  EXPECT_EQ(problem(worker.answer()), "not_found: nothing to spell");
  worker.say(R"({"type":"invokefunction","invocation_id":"c1","function_id":"own::spell","data":null})");
  const Value nothing = worker.answer();
  EXPECT_TRUE(nothing.is_object());
  EXPECT_EQ(nothing.find("result"), nullptr);
  worker.tell(trigger("t1", "own::spell"));
  start(Value::object({{"n", 1}}));
  ASSERT_TRUE(ran && *ran);
  EXPECT_EQ(json::write(**ran), R"({"user":"ann","text":{"n":1}})");
  bus->fire(bells.bound[0], Payload::of_text(R"({"n":2})"));
  loop.run_ready();
  EXPECT_EQ(worker.worker->calls_made, 0u);
  EXPECT_EQ(Payload::of_text(R"({"n":2})").value()->int_or("n", 0), 2);
}

TEST_F(ProviderTest, OneKnowsOnlyWhatOneCouldCall) {
  Peer& ann = join();
  Peer& ben = join({"bus:register", "bus:call"}, "ben");
  ben.provide("b::f");
  EXPECT_TRUE(bus->knows("b::f", ben.worker->view));
  EXPECT_FALSE(bus->knows("b::f", {.tenant = tenant_of("default", "cat")}));
  EXPECT_TRUE(bus->knows("engine::functions::list", ann.worker->view));
}

TEST_F(ProviderTest, AnEnqueuedCallGivesAReceipt) {
  Peer& worker = join();
  worker.tell(enqueue("w::later", Value::object({{"type", "enqueue"}, {"queue", "default"}})));
  const Value answer = worker.answer();
  EXPECT_EQ(json::write(*answer.find("result")), R"({"messageReceiptId":"receipt-1"})");
  ASSERT_EQ(shelf.requests.size(), 1u);
  EXPECT_EQ(json::write(shelf.requests[0].data), R"({"n":1})");  // nothing of the caller in it
  EXPECT_EQ(shelf.requests[0].function_id, "w::later");
  EXPECT_EQ(shelf.requests[0].traceparent, "00-1-2-01");
  EXPECT_EQ(shelf.users[0], "ann");
  worker.tell(enqueue("w::later", Value::object({{"type", "enqueue"}, {"queue", "none"}})));
  EXPECT_EQ(problem(worker.answer()), "enqueue_error: Queue 'none' not found");
  worker.tell(enqueue("w::later", Value::object({{"type", "enqueue"}})));
  EXPECT_NE(problem(worker.answer()).find("must name a queue"), std::string::npos);
  Peer& mute = join({"bus:register"});
  mute.tell(enqueue("w::later", Value::object({{"type", "enqueue"}, {"queue", "default"}})));
  EXPECT_NE(problem(mute.answer()).find("bus:call"), std::string::npos);
}

}  // namespace
}  // namespace chela::bus
