#include "bus/bridge/remote_triggers.h"

#include "bus/bridge/bridge_fixture.h"
#include "bus/bridge/bridge_module.h"
#include "bus/bus_fixture.h"

namespace chela::bus::bridge {
namespace {

using json::Value;
using Delivery = RemoteTriggers::Delivery;

class RemoteTriggersTest : public BusTest {
 protected:
  ~RemoteTriggersTest() override {
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, remote.stop());
  }

  void start(Delivery delivery) {
    triggers.emplace(*bus, remote, ids, delivery);
    ASSERT_TRUE(bus->add_trigger_type({.id = "far", .description = ""}, *triggers));
    remote.start();
    loop.run_ready();
    engine.got.clear();
  }
  static Value trigger(std::string_view id, std::string_view function_id, std::string_view topic) {
    return Value::object({{"type", "registertrigger"},
                          {"id", id},
                          {"trigger_type", "far"},
                          {"function_id", function_id},
                          {"config", Value::object({{"topic", topic}, {"condition_function_id", ""}})}});
  }
  void fire(const std::string& function_id) {
    engine.say(Value::object({{"type", "invokefunction"},
                              {"invocation_id", "i1"},
                              {"function_id", function_id},
                              {"data", Value::object({{"n", 1}})}}));
    loop.run_ready();
  }

  FakeEngine engine{loop};
  Remote remote{{.loop = loop, .ids = ids, .connect = engine.connector()}, {.where = "other:1"}};
  std::optional<RemoteTriggers> triggers;
};

TEST_F(RemoteTriggersTest, ATriggerIsOneThere) {
  start(Delivery::kTold);
  Peer& worker = join();
  worker.provide("f");
  worker.tell(trigger("t1", "f", "a"));
  loop.run_ready();
  const std::string function_id = engine.next("registerfunction").string_or("id");
  const Value there = engine.next("registertrigger");
  EXPECT_EQ(there.string_or("function_id"), function_id);
  EXPECT_EQ(there.find("config")->string_or("topic"), "a");
  EXPECT_EQ(there.find("config")->find("condition_function_id"), nullptr);
  fire(function_id);
  EXPECT_EQ(worker.next("invokefunction").find("data")->int_or("n", 0), 1);
  EXPECT_FALSE(engine.next("invocationresult").is_null());  // at once
  worker.leave();
  EXPECT_EQ(engine.next("unregistertrigger").string_or("id"), there.string_or("id"));
  EXPECT_EQ(engine.next("unregisterfunction").string_or("id"), function_id);
}

TEST_F(RemoteTriggersTest, AMessageIsAnsweredWithWhatBecameOfIt) {
  start(Delivery::kHandled);
  Peer& worker = join();
  worker.provide("f");
  worker.tell(trigger("t1", "f", "a"));
  worker.tell(trigger("t2", "f", "a"));
  loop.run_ready();
  const std::string function_id = engine.next("registerfunction").string_or("id");
  EXPECT_TRUE(engine.next("registerfunction").is_null());  // both are one
  fire(function_id);
  EXPECT_TRUE(engine.next("invocationresult").is_null());
  const Value call = worker.next("invokefunction");
  EXPECT_TRUE(worker.next("invokefunction").is_null());
  worker.tell(Value::object({{"type", "invocationresult"},
                             {"invocation_id", call.string_or("invocation_id")},
                             {"function_id", "f"},
                             {"error", Value::object({{"code", "broken"}, {"message", "no"}})}}));
  loop.run_ready();
  EXPECT_EQ(engine.next("invocationresult").find("error")->string_or("code"), "broken");
}

TEST_F(RemoteTriggersTest, SubscriptionsOfGoneWorkersAreKeptWithoutTheirFunction) {
  start(Delivery::kHandled);
  Peer& worker = join();
  worker.provide("f");
  worker.tell(trigger("t1", "f", "a"));
  loop.run_ready();
  const std::string function_id = engine.next("registerfunction").string_or("id");
  worker.leave();
  EXPECT_EQ(engine.next("unregisterfunction").string_or("id"), function_id);
  EXPECT_TRUE(engine.next("unregistertrigger").is_null());
  engine.next("registertrigger");
  Peer& again = join();
  again.provide("f");
  again.tell(trigger("t2", "f", "a"));
  loop.run_ready();
  EXPECT_EQ(engine.next("registerfunction").string_or("id"), function_id);
  EXPECT_TRUE(engine.next("registertrigger").is_null());
  again.say(R"({"type":"unregistertrigger","id":"t2"})");
  EXPECT_FALSE(engine.next("unregistertrigger").is_null());  // wanted no more
}

TEST_F(RemoteTriggersTest, OnlySoManyAreKept) {
  start(Delivery::kHandled);
  Peer& worker = join();
  worker.provide("f");
  for (size_t i = 0; i <= kMaxKeptTriggers; ++i)
    worker.tell(trigger(fmt::format("t{}", i), "f", fmt::format("topic{}", i)));
  EXPECT_EQ(triggers->size(), kMaxKeptTriggers + 1);
  worker.leave();
  EXPECT_EQ(triggers->size(), kMaxKeptTriggers);
  EXPECT_FALSE(engine.next("unregistertrigger").is_null());
}

}  // namespace
}  // namespace chela::bus::bridge
