#include "bus/bus_fixture.h"

namespace chela::bus {
namespace {

using json::Value;

std::string error_code(const Value& answer) {
  const Value* error = answer.find("error");
  return error == nullptr ? "" : error->string_or("code");
}

TEST_F(BusTest, GreetsWithAnIdAndAToken) {
  Peer& peer = join();
  const Value greeting = peer.next("workerregistered");
  EXPECT_EQ(greeting.string_or("worker_id"), peer.worker->id);
  EXPECT_EQ(greeting.string_or("reattach_token").size(), 43u);
}

TEST_F(BusTest, ACallGoesToTheProviderAndItsAnswerBack) {
  Peer& provider = join();
  Peer& caller = join();
  provider.provide("math::add");
  caller.say(R"({"type":"invokefunction","invocation_id":"mine","function_id":"math::add","data":{"a":1.50},)"
             R"("traceparent":"00-aa-bb-01","baggage":"k=v","metadata":{"m":1}})");
  const Value call = provider.next("invokefunction");
  EXPECT_EQ(call.string_or("function_id"), "math::add");
  EXPECT_NE(call.string_or("invocation_id"), "mine");  // two callers' ids cannot meet
  EXPECT_EQ(call.find("data")->string_or("_caller_worker_id"), caller.worker->id);
  EXPECT_EQ(call.string_or("traceparent"), "00-aa-bb-01");
  EXPECT_EQ(call.string_or("baggage"), "k=v");
  EXPECT_EQ(call.find("metadata")->int_or("m", 0), 1);
  EXPECT_EQ(bus->open_calls(), 1u);
  provider.tell(Value::object({{"type", "invocationresult"},
                               {"invocation_id", call.string_or("invocation_id")},
                               {"function_id", "math::add"},
                               {"result", 3}}));
  const Value answer = caller.answer();
  EXPECT_EQ(answer.string_or("invocation_id"), "mine");
  EXPECT_EQ(answer.int_or("result", 0), 3);
  EXPECT_EQ(answer.string_or("traceparent"), "00-aa-bb-01");
  EXPECT_EQ(bus->open_calls(), 0u);
  EXPECT_EQ(caller.worker->calls_made, 0u);
  EXPECT_EQ(provider.worker->calls_served, 0u);
}

TEST_F(BusTest, AnErrorOfTheFunctionComesBackAsItIs) {
  Peer& provider = join();
  Peer& caller = join();
  provider.provide("f");
  caller.call("f");
  const Value call = provider.next("invokefunction");
  provider.tell(Value::object(
      {{"type", "invocationresult"},
       {"invocation_id", call.string_or("invocation_id")},
       {"result", 1},
       {"error",
        Value::object({{"code", "invocation_failed"}, {"message", "no"}, {"stacktrace", "here"}})}}));
  const Value answer = caller.answer();
  EXPECT_EQ(answer.find("result"), nullptr);
  EXPECT_EQ(answer.find("error")->string_or("stacktrace"), "here");
}

TEST_F(BusTest, VoidCallsAreNotAnswered) {
  Peer& provider = join();
  Peer& caller = join();
  provider.provide("f");
  caller.say(R"({"type":"invokefunction","function_id":"f","data":{}})");
  caller.say(
      R"({"type":"invokefunction","invocation_id":"x","function_id":"f","data":{},"action":{"type":"void"}})");
  caller.say(R"({"type":"invokefunction","function_id":"missing","data":{}})");
  EXPECT_EQ(provider.serve(), "f");
  EXPECT_EQ(provider.serve(), "f");
  EXPECT_TRUE(caller.answer().is_null());
  EXPECT_EQ(bus->open_calls(), 0u);
}

TEST_F(BusTest, WhatCannotBeDoneIsAnswered) {
  Peer& caller = join();
  caller.call("missing");
  EXPECT_EQ(error_code(caller.answer()), "function_not_found");
  caller.say(R"({"type":"invokefunction","invocation_id":"q","function_id":"f","data":{},)"
             R"("action":{"type":"enqueue","queue":"default"}})");
  EXPECT_EQ(error_code(caller.answer()), "enqueue_error");
}

TEST_F(BusTest, ProvidersShareTheLoadAndTheIdlestIsChosen) {
  Peer& one = join();
  Peer& two = join();
  Peer& caller = join();
  one.provide("f");
  two.provide("f");
  for (int i = 0; i < 4; ++i) caller.call("f", Value::object(), fmt::format("c{}", i));
  EXPECT_EQ(one.worker->calls_served, 2u);
  EXPECT_EQ(two.worker->calls_served, 2u);
  EXPECT_EQ(one.serve(), "f");
  EXPECT_EQ(one.serve(), "f");
  caller.call("f");
  caller.call("f");
  EXPECT_EQ(one.worker->calls_served, 2u);
  EXPECT_EQ(two.worker->calls_served, 2u);
}

TEST_F(BusTest, WhenOneProviderDiesTheOtherServes) {
  Peer& one = join();
  Peer& two = join();
  Peer& caller = join();
  one.provide("f");
  two.provide("f");
  caller.call("f", Value::object(), "lost");
  EXPECT_FALSE(one.next("invokefunction").is_null());
  one.leave();
  const Value lost = caller.answer();
  EXPECT_EQ(lost.string_or("invocation_id"), "lost");
  EXPECT_EQ(error_code(lost), "invocation_stopped");
  for (int i = 0; i < 3; ++i) {
    caller.call("f");
    EXPECT_EQ(two.serve(), "f");
    EXPECT_EQ(error_code(caller.answer()), "");
  }
  two.leave();
  caller.call("f");
  EXPECT_EQ(error_code(caller.answer()), "function_not_found");
}

// A worker that has unregistered a function knows nothing of calls that were on their way.
struct Leaving {
  static void unregister(auto& peer) {
    peer.tell(Value::object({{"type", "unregisterfunction"}, {"id", "f"}}));
  }
  // Answers the call that it was sent; false when there is none.
  static bool refuse(auto& peer, std::string_view code = "function_not_found") {
    const Value call = peer.next("invokefunction");
    if (call.is_null()) return false;
    peer.tell(Value::object({{"type", "invocationresult"},
                             {"invocation_id", call.string_or("invocation_id")},
                             {"function_id", "f"},
                             {"error", Value::object({{"code", code}, {"message", "f not found"}})}}));
    return true;
  }
};

TEST_F(BusTest, ACallGoesOnToTheNextWhenItsWorkerHasGivenUpTheFunction) {
  Peer& one = join();
  Peer& two = join();
  Peer& caller = join();
  one.provide("f");
  two.provide("f");
  caller.say(
      R"({"type":"invokefunction","invocation_id":"mine","function_id":"f","data":{"n":1},"metadata":{"m":2}})");
  Leaving::unregister(one);
  ASSERT_TRUE(Leaving::refuse(one));
  EXPECT_EQ(bus->open_calls(), 1u);
  const Value call = two.next("invokefunction");
  EXPECT_EQ(call.find("data")->int_or("n", 0), 1);
  EXPECT_EQ(call.find("data")->string_or("_caller_worker_id"), caller.worker->id);
  EXPECT_EQ(call.find("metadata")->int_or("m", 0), 2);
  two.tell(Value::object({{"type", "invocationresult"},
                          {"invocation_id", call.string_or("invocation_id")},
                          {"function_id", "f"},
                          {"result", 7}}));
  const Value answer = caller.answer();
  EXPECT_EQ(answer.string_or("invocation_id"), "mine");
  EXPECT_EQ(answer.int_or("result", 0), 7);
  EXPECT_TRUE(caller.answer().is_null());
  EXPECT_EQ(bus->open_calls(), 0u);
  EXPECT_EQ(caller.worker->calls_made, 0u);
}

TEST_F(BusTest, WhatAWorkerFailsWithThatStillProvidesTheFunctionIsTheAnswer) {
  Peer& one = join();
  Peer& two = join();
  Peer& caller = join();
  one.provide("f");
  two.provide("f");
  caller.call("f");
  ASSERT_TRUE(Leaving::refuse(one));  // a function that it called itself, say
  EXPECT_TRUE(caller.answer().is_null());
  loop.advance(kRefusalPatience);
  EXPECT_EQ(error_code(caller.answer()), "function_not_found");
  caller.call("f");
  Leaving::unregister(two);
  ASSERT_TRUE(Leaving::refuse(two, "invocation_failed"));  // it had begun
  EXPECT_EQ(error_code(caller.answer()), "invocation_failed");
}

TEST_F(BusTest, AWorkerMayRefuseBeforeItSaysThatItGivesUp) {
  Peer& one = join();
  Peer& two = join();
  Peer& caller = join();
  one.provide("f");
  two.provide("f");
  caller.call("f");
  ASSERT_TRUE(Leaving::refuse(one));
  Leaving::unregister(one);
  EXPECT_TRUE(two.next("invokefunction").is_null());
  loop.advance(kRefusalPatience);
  EXPECT_FALSE(two.serve().empty());
  EXPECT_EQ(caller.answer().find("error"), nullptr);
  EXPECT_EQ(bus->open_calls(), 0u);
  EXPECT_EQ(caller.worker->calls_made, 0u);
}

TEST_F(BusTest, AHeldRefusalIsForgottenWithItsCaller) {
  Peer& one = join();
  Peer& two = join();
  Peer& caller = join();
  one.provide("f");
  two.provide("f");
  caller.call("f");
  ASSERT_TRUE(Leaving::refuse(one));
  Leaving::unregister(one);
  caller.leave();
  loop.advance(kRefusalPatience);
  EXPECT_TRUE(two.next("invokefunction").is_null());
  EXPECT_EQ(bus->open_calls(), 0u);
}

TEST_F(BusTest, OnlySoManyRefusalsAreHeld) {
  Peer& one = join();
  Peer& caller = join();
  one.provide("f");
  for (size_t i = 0; i <= kMaxHeldRefusals; ++i) {
    caller.call("f");
    ASSERT_TRUE(Leaving::refuse(one));
  }
  EXPECT_EQ(error_code(caller.answer()), "function_not_found");  // the one too many
  EXPECT_TRUE(caller.answer().is_null());
  loop.advance(kRefusalPatience);
  for (size_t i = 0; i < kMaxHeldRefusals; ++i)
    EXPECT_EQ(error_code(caller.answer()), "function_not_found") << i;
  caller.call("f");
  const Value call = one.next("invokefunction");
  one.tell(Value::object({{"type", "invocationresult"},
                          {"invocation_id", call.string_or("invocation_id")},
                          {"function_id", "f"},
                          {"error", Value::object({{"code", "function_not_found"},
                                                   {"message", std::string(kMaxHeldRefusalBytes, 'x')}})}}));
  EXPECT_EQ(error_code(caller.answer()), "function_not_found");  // too large to be held
}

TEST_F(BusTest, ASmallCallGoesOnToAWorkerThatCameAfterIt) {
  Peer& one = join();
  Peer& two = join();
  Peer& caller = join();
  one.provide("f");
  caller.call("f", Value::object({{"n", 1}}), "small");
  caller.call("f", Value::object({{"x", std::string(kSmallSpareBytes, 'x')}}), "large");
  two.provide("f");
  Leaving::unregister(one);
  ASSERT_TRUE(Leaving::refuse(one));
  EXPECT_FALSE(two.serve().empty());
  EXPECT_EQ(caller.answer().find("error"), nullptr);
  ASSERT_TRUE(Leaving::refuse(one));
  const Value answer = caller.answer();
  EXPECT_EQ(answer.string_or("invocation_id"), "large");
  EXPECT_EQ(error_code(answer), "function_not_found");
}

TEST_F(BusTest, ACallIsPassedOnOnlySoOften) {
  std::vector<Peer*> workers;
  for (int i = 0; i <= kMaxPassedOn + 1; ++i) workers.push_back(&join());
  for (Peer* each : workers) each->provide("f");
  Peer& caller = join();
  caller.call("f");
  for (int i = 0; i <= kMaxPassedOn; ++i) {
    const auto serving =
        std::ranges::find_if(workers, [](const Peer* each) { return each->worker->calls_served == 1; });
    ASSERT_NE(serving, workers.end()) << i;
    Leaving::unregister(**serving);
    EXPECT_TRUE(caller.answer().is_null());
    ASSERT_TRUE(Leaving::refuse(**serving)) << i;
  }
  EXPECT_EQ(error_code(caller.answer()), "function_not_found");
  EXPECT_EQ(bus->open_calls(), 0u);
}

TEST_F(BusTest, OnlySoMuchIsKeptToBePassedOn) {
  Peer& one = join();
  Peer& two = join();
  Peer& caller = join();
  one.provide("f");
  two.provide("f");
  const Value large = Value::object({{"x", std::string(kMaxSpareBytes / 4, 'x')}});  // three of them fit
  for (int i = 0; i < 6; ++i) caller.call("f", large, fmt::format("c{}", i));
  Leaving::unregister(one);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Leaving::refuse(one)) << i;
  EXPECT_EQ(caller.answer().string_or("invocation_id"), "c4");
  EXPECT_TRUE(caller.answer().is_null());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(two.serve().empty()) << i;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(caller.answer().find("error"), nullptr) << i;
  EXPECT_EQ(bus->open_calls(), 0u);
}

TEST_F(BusTest, WhatAHeldRefusalKeepsCountsUntilItIsSettled) {
  Peer& one = join();
  Peer& two = join();
  Peer& caller = join();
  one.provide("f");
  two.provide("f");
  const Value large = Value::object({{"x", std::string(kMaxSpareBytes / 4, 'x')}});  // three of them fit
  for (int i = 0; i < 3; ++i) caller.call("f", large, fmt::format("c{}", i));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Leaving::refuse(one)) << i;  // both are held
  caller.call("f", large, "c3");
  Leaving::unregister(one);
  ASSERT_TRUE(Leaving::refuse(one));
  const Value answer = caller.answer();
  EXPECT_EQ(answer.string_or("invocation_id"), "c3");
  EXPECT_EQ(error_code(answer), "function_not_found");
  loop.advance(kRefusalPatience);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(two.serve().empty()) << i;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(caller.answer().find("error"), nullptr) << i;
  EXPECT_EQ(bus->open_calls(), 0u);
}

TEST_F(BusTest, ACallOfTheEngineGoesOnToTheNextToo) {
  Peer& one = join();
  Peer& two = join();
  one.provide("f");
  two.provide("f");
  loop.post([&] {
    Leaving::unregister(one);
    EXPECT_TRUE(Leaving::refuse(one));
    loop.post([&] { two.serve(); });
  });
  const op::Principal ann{.realm = "default", .user = "ann", .permissions = {"*"}};
  const auto ask = [&] {
    return runtime::block_on(loop, bus->call({.principal = ann, .scope = ann.scope()}, "f", Value::object()));
  };
  const Result<Value> said = ask();
  ASSERT_TRUE(said) << said.error().text();
  EXPECT_TRUE(said->bool_or("ok", false));
  loop.post([&] {
    Leaving::unregister(two);
    EXPECT_TRUE(Leaving::refuse(two));
  });
  EXPECT_TRUE(never_begun(ask().error()));
}

TEST_F(BusTest, CallsGoWithTheirCaller) {
  Peer& provider = join();
  Peer& caller = join();
  Peer& other = join();
  provider.provide("f");
  for (Peer* each : {&caller, &other}) each->call("f", Value::object(), "same");
  const Value abandoned = provider.next("invokefunction");
  caller.leave();
  EXPECT_EQ(bus->open_calls(), 1u);
  EXPECT_EQ(provider.worker->calls_served, 1u);
  provider.tell(Value::object({{"type", "invocationresult"},
                               {"invocation_id", abandoned.string_or("invocation_id")},
                               {"function_id", "f"},
                               {"result", "late"}}));
  EXPECT_TRUE(other.next("invocationresult").is_null());
  EXPECT_EQ(provider.serve(Value::object({{"n", 1}})), "f");
  EXPECT_EQ(other.answer().find("result")->int_or("n", 0), 1);
  EXPECT_EQ(bus->open_calls(), 0u);
}

TEST_F(BusTest, AVoidCallOutlivesItsCaller) {
  Peer& provider = join();
  Peer& caller = join();
  provider.provide("f");
  caller.say(R"({"type":"invokefunction","function_id":"f","data":{}})");
  caller.leave();
  EXPECT_EQ(bus->open_calls(), 1u);
  EXPECT_EQ(provider.serve(), "f");
  EXPECT_EQ(bus->open_calls(), 0u);
}

TEST_F(BusTest, NobodyAnswersTheCallsOfAnother) {
  Peer& provider = join();
  Peer& intruder = join();
  Peer& caller = join();
  provider.provide("f");
  caller.call("f");
  const std::string id = provider.next("invokefunction").string_or("invocation_id");
  intruder.tell(Value::object({{"type", "invocationresult"}, {"invocation_id", id}, {"result", "forged"}}));
  EXPECT_TRUE(caller.answer().is_null());
  const Value right =
      Value::object({{"type", "invocationresult"}, {"invocation_id", id}, {"result", "right"}});
  provider.tell(right);
  EXPECT_EQ(caller.answer().string_or("result"), "right");
  provider.tell(right);  // twice
  EXPECT_TRUE(caller.answer().is_null());
}

TEST_F(BusTest, ACallThatNobodyAnswersEndsInTime) {
  Peer& provider = join();
  Peer& caller = join();
  provider.provide("f");
  caller.call("f");
  loop.advance(59s);
  EXPECT_TRUE(caller.answer().is_null());
  loop.advance(10s);
  EXPECT_EQ(error_code(caller.answer()), "timeout");
  EXPECT_EQ(bus->open_calls(), 0u);
}

TEST_F(BusTest, AProviderThatAnswersNothingReachesItsLimitAndNobodyElseDoes) {
  Peer& stuck = join();
  Peer& fine = join();
  Peer& caller = join();
  stuck.provide("stuck");
  fine.provide("fine");
  for (size_t i = 0; i < kMaxCallsServed; ++i) caller.call("stuck", Value::object(), "s");
  caller.call("stuck");
  EXPECT_EQ(error_code(caller.answer()), "unavailable");
  caller.call("fine");
  EXPECT_EQ(fine.serve(), "fine");
  EXPECT_EQ(error_code(caller.answer()), "");
}

TEST_F(BusTest, OneCallerHasOnlySoManyOpenCalls) {
  Peer& caller = join();
  for (size_t i = 0; i < 3; ++i) join().provide("f");
  for (size_t i = 0; i < kMaxCallsMade; ++i) caller.call("f");
  EXPECT_TRUE(caller.answer().is_null());
  caller.call("f");
  EXPECT_EQ(error_code(caller.answer()), "rate_limited");
}

TEST_F(BusTest, CallsInTheEngineHoldOnlySoManyBytes) {
  std::vector<runtime::Completion<bool>> waiting;
  const auto wait = [](runtime::Completion<bool> until, LocalCall call) -> Task<Result<Value>> {
    co_await until;
    co_return Value(call.data.is_null());
  };
  ASSERT_TRUE(bus->add({.spec = {.id = "slow"}, .handler = [this, wait, &waiting](LocalCall call) {
                          waiting.emplace_back(loop);
                          return wait(waiting.back(), std::move(call));
                        }}));
  Peer& caller = join();
  const Value large(std::string(kMaxCallBytes / 4 - 2, 'x'));  // with its quotes a quarter
  for (int i = 0; i < 4; ++i) caller.call("slow", large);
  EXPECT_TRUE(caller.answer().is_null());
  EXPECT_EQ(caller.worker->call_bytes, kMaxCallBytes);
  caller.call("slow", Value(1));
  EXPECT_EQ(error_code(caller.answer()), "rate_limited");
  Peer& other = join();
  other.call("slow", large);
  EXPECT_TRUE(other.answer().is_null());
  // Its triggers call no more either.
  caller.tell(Value::object({{"type", "registertrigger"},
                             {"id", "t"},
                             {"trigger_type", "engine::workers-available"},
                             {"function_id", "slow"}}));
  loop.advance(kEventsDelay);
  EXPECT_EQ(caller.worker->calls_made, 4u);
  for (const runtime::Completion<bool>& each : waiting) each.resolve(true);
  loop.run_ready();
  EXPECT_EQ(caller.worker->call_bytes, 0u);
  EXPECT_EQ(error_code(caller.answer()), "");
}

TEST_F(BusTest, ACallerIsHeldBackWhileAWorkerDoesNotRead) {
  Peer& slow = join();
  Peer& caller = join();
  slow.provide("f");
  EXPECT_EQ(caller.call("f"), nullptr);
  slow.link.unread = kSoftUnsentBytes + 1;
  WorkerPtr held = caller.call("f");
  ASSERT_EQ(held, slow.worker);
  bool resumed = false;
  runtime::TaskGroup group(loop);
  const auto wait = [](Bus& to, WorkerPtr worker, bool& done) -> Task<> {
    co_await to.wait_for(std::move(worker), {});
    done = true;
  };
  group.spawn(wait(*bus, held, resumed));
  loop.run_ready();
  EXPECT_FALSE(resumed);
  slow.link.unread = 0;
  slow.link.reading.front().resolve(true);
  loop.run_ready();
  EXPECT_TRUE(resumed);
  EXPECT_FALSE(slow.worker->stalled);
  // One that never reads is waited for once; then calls to it fail until it does.
  slow.link.unread = kSoftUnsentBytes + 1;
  resumed = false;
  group.spawn(wait(*bus, caller.call("f"), resumed));
  loop.advance(kSlowWorkerWait);
  EXPECT_TRUE(resumed);
  EXPECT_EQ(caller.call("f", Value::object(), "refused"), nullptr);
  EXPECT_EQ(error_code(caller.answer()), "unavailable");
  slow.link.unread = 0;
  caller.call("f");
  EXPECT_TRUE(caller.answer().is_null());
}

TEST_F(BusTest, ACallThatCannotBeSentFailsAtOnce) {
  Peer& broken = join();
  Peer& caller = join();
  broken.provide("f");
  broken.link.refuses = true;
  caller.call("f");
  EXPECT_EQ(error_code(caller.answer()), "channel_send_failed");
  EXPECT_EQ(bus->open_calls(), 0u);
}

TEST_F(BusTest, AWorkerThatTakesNoAnswersIsCutOff) {
  Peer& provider = join();
  Peer& caller = join();
  provider.provide("f");
  caller.call("f");
  caller.link.refuses = true;
  provider.serve();
  EXPECT_EQ(caller.link.close_code, 1008);
}

TEST_F(BusTest, AWorkerThatIsCutOffGetsNoMoreCalls) {
  Peer& ends = join();
  Peer& stays = join();
  Peer& caller = join();
  ends.provide("f");
  stays.provide("f");
  ends.link.refuses = true;
  ends.say(R"({"type":"ping"})");  // the pong does not reach it
  for (int i = 0; i < 4; ++i) {
    caller.call("f");
    EXPECT_EQ(stays.serve(), "f");
    EXPECT_EQ(error_code(caller.answer()), "");
  }
  stays.leave();
  caller.call("f");
  EXPECT_EQ(error_code(caller.answer()), "unavailable");
}

TEST_F(BusTest, CallingNeedsAPermission) {
  Peer& provider = join();
  provider.provide("f");
  Peer& mute = join({"bus:register"});
  mute.call("f");
  EXPECT_EQ(error_code(mute.answer()), "FORBIDDEN");
  mute.call("engine::workers::register", Value::object({{"name", "mute"}, {"version", "0.9.0"}}));
  EXPECT_TRUE(mute.answer().find("result")->bool_or("success", false));
  EXPECT_EQ(mute.worker->info.name, "mute");
}

TEST_F(BusTest, FunctionsOfAnotherUserAreNotThere) {
  Peer& ann = join({"bus:*"}, "ann");
  Peer& bob = join({"bus:*"}, "bob");
  ann.provide("secret");
  bob.call("secret");
  EXPECT_EQ(error_code(bob.answer()), "function_not_found");
  // The same name is free for bob, and each reaches their own.
  bob.provide("secret");
  Peer& ann_too = join({"bus:*"}, "ann");
  ann_too.call("secret");
  EXPECT_EQ(ann.serve(), "secret");
  EXPECT_EQ(bob.serve(), "");
  // An administrator sees them, and calls none of them.
  Peer& admin = join({"*"}, "root");
  EXPECT_NE(bus->functions().find("secret", admin.worker->view).spec, nullptr);
  admin.call("secret");
  EXPECT_EQ(error_code(admin.answer()), "function_not_found");
  // An administrator's function is everybody's.
  admin.provide("shared");
  bob.call("shared");
  EXPECT_EQ(admin.serve(), "shared");
}

TEST_F(BusTest, TheEngineCallsFunctionsAndHearsTheirErrors) {
  Peer& provider = join();
  provider.provide("f");
  const op::CallContext context{.principal = {.realm = "default", .user = "ann", .permissions = {"*"}},
                                .scope = {}};
  std::optional<Result<Value>> got;
  runtime::TaskGroup group(loop);
  const auto run = [](Task<Result<Value>> task, std::optional<Result<Value>>& out) -> Task<> {
    out = co_await std::move(task);
  };
  group.spawn(run(bus->call(context, "f", Value::object({{"a", 1}})), got));
  provider.serve(Value::object({{"b", 2}}));
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->int_or("b", 0), 2);

  group.spawn(run(bus->call(context, "missing", {}), got));
  EXPECT_EQ(got->error().code, Code::kNotFound);
  EXPECT_EQ(got->error().detail("bus_code"), "function_not_found");

  got.reset();
  group.spawn(run(bus->call(context, "f", {}), got));
  provider.leave();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error().code, Code::kUnavailable);
}

TEST_F(BusTest, TheEngineStopsWaitingAtItsDeadline) {
  Peer& provider = join();
  provider.provide("f");
  const op::CallContext context{.principal = {.realm = "default", .user = "ann", .permissions = {"*"}},
                                .scope = {},
                                .deadline = loop.clock().steady() + 5s};
  const Result<Value> end = runtime::block_on(loop, bus->call(context, "f", {}));
  EXPECT_EQ(end.error().code, Code::kTimeout);
  EXPECT_EQ(bus->open_calls(), 0u);
}

}  // namespace
}  // namespace chela::bus
