#include "bus/bus_fixture.h"

namespace chela::bus {
namespace {

using json::Value;

constexpr std::string_view kWorkers = "engine::workers-available";
constexpr std::string_view kFunctions = "engine::functions-available";

Value trigger(std::string_view id, std::string_view type, std::string_view function_id) {
  return Value::object(
      {{"type", "registertrigger"}, {"id", id}, {"trigger_type", type}, {"function_id", function_id}});
}

std::string refusal(const Value& result) {
  const Value* error = result.find("error");
  return error == nullptr ? "" : error->string_or("message");
}

TEST_F(BusTest, WatchersAreToldOfABurstOnce) {
  Peer& watcher = join();
  watcher.provide("w::functions");
  watcher.provide("w::workers");
  watcher.tell(trigger("t1", kFunctions, "w::functions"));
  watcher.tell(trigger("t2", kWorkers, "w::workers"));
  loop.advance(kEventsDelay);
  EXPECT_EQ(watcher.serve(), "w::workers");  // of itself
  EXPECT_EQ(watcher.serve(), "w::functions");
  Peer& other = join();
  for (int i = 0; i < 5; ++i) other.provide(fmt::format("o::{}", i));
  EXPECT_TRUE(watcher.next("invokefunction").is_null());
  loop.advance(kEventsDelay);
  EXPECT_EQ(watcher.next("invokefunction").find("data")->string_or("event"), "worker_connected");
  const Value changed = watcher.next("invokefunction");
  EXPECT_EQ(changed.string_or("function_id"), "w::functions");
  EXPECT_EQ(changed.find("data")->find("functions")->as_array()->size(), 7u);
  EXPECT_TRUE(watcher.next("invokefunction").is_null());
  other.leave();
  loop.advance(kEventsDelay);
  EXPECT_EQ(watcher.next("invokefunction").find("data")->string_or("event"), "worker_disconnected");
}

TEST_F(BusTest, NoTriggerCallsAFunctionOfTheEngine) {
  Peer& worker = join({"bus:register"});
  for (const std::string_view function : {"engine::workers::register", "engine::functions::list"}) {
    worker.tell(trigger("t", kWorkers, function));
    EXPECT_NE(refusal(worker.next("triggerregistrationresult")).find("the engine's own"), std::string::npos);
  }
  worker.call("engine::workers::register", Value::object({{"name", "w"}}));
  loop.advance(kEventsDelay);
  EXPECT_FALSE(worker.answer().is_null());
  EXPECT_EQ(bus->triggers().size(), 0u);
}

TEST_F(BusTest, ATriggerOfTheEngineNeedsThePermissionToCall) {
  Peer& worker = join({"bus:register"});
  worker.provide("w::on");
  worker.tell(trigger("t", kWorkers, "w::on"));
  EXPECT_NE(refusal(worker.next("triggerregistrationresult")).find("bus:call"), std::string::npos);
  join().call("engine::workers::register", Value::object({{"name", "w"}}));
  loop.advance(kEventsDelay);
  EXPECT_TRUE(worker.next("invokefunction").is_null());
}

TEST_F(BusTest, ACycleOfTriggersRunsOnceADelay) {
  Peer& worker = join();
  worker.provide("w::on");
  worker.tell(trigger("t", kWorkers, "w::on"));
  int called = 0;
  for (int step = 0; step < 100; ++step) {
    loop.advance(kEventsDelay / 10);
    while (!worker.serve().empty()) {
      ++called;
      for (int i = 0; i < 3; ++i) worker.call("engine::workers::register", Value::object({{"name", "w"}}));
    }
  }
  EXPECT_GE(called, 9);
  EXPECT_LE(called, 11);  // the first time both that it came and who it is
}

TEST_F(BusTest, TooManyEventsOfWorkersAreToldAsOne) {
  Peer& watcher = join();
  watcher.provide("w::on");
  watcher.tell(trigger("t", kWorkers, "w::on"));
  loop.advance(kEventsDelay);
  watcher.serve();
  for (size_t i = 0; i < kMaxWorkerEvents + 10; ++i) join().say(R"({"type":"ping"})");
  loop.advance(kEventsDelay);
  for (size_t i = 0; i < kMaxWorkerEvents; ++i)
    EXPECT_EQ(watcher.next("invokefunction").find("data")->string_or("event"), "worker_connected");
  const Value last = watcher.next("invokefunction");
  EXPECT_EQ(last.find("data")->string_or("event"), "workers_changed");
  EXPECT_EQ(last.find("data")->find("worker_id"), nullptr);
  EXPECT_TRUE(watcher.next("invokefunction").is_null());
}

TEST_F(BusTest, EventsCountAsCallsOfTheTriggersOwner) {
  Peer& owner = join();
  Peer& provider = join();
  provider.provide("p::on");
  provider.provide("p::never");
  owner.tell(trigger("t", kWorkers, "p::on"));
  loop.advance(kEventsDelay);
  EXPECT_EQ(owner.worker->calls_made, 2u);
  while (!provider.serve().empty()) {
  }
  EXPECT_EQ(owner.worker->calls_made, 0u);
  EXPECT_TRUE(owner.answer().is_null());
  owner.worker->calls_made = kMaxCallsMade;
  join().say(R"({"type":"ping"})");
  loop.advance(kEventsDelay);
  EXPECT_TRUE(provider.next("invokefunction").is_null());
  owner.worker->calls_made = 0;
}

}  // namespace
}  // namespace chela::bus
