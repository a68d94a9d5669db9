#include "bus/state/state.h"

#include "bus/bus_fixture.h"
#include "testing/memory_records.h"

namespace chela::bus::state {
namespace {

using json::Value;

class StateTest : public BusTest {
 protected:
  ~StateTest() override { end(); }

  void begin(StateOptions options = {}) {
    state = std::make_unique<State>(*bus, std::move(options), disk.opener());
    ASSERT_TRUE(runtime::block_on(loop, state->start()));
  }
  void begin_on_disk() { begin({.keep = {.file = "state.db"}}); }
  // As an engine ends: modules, workers, the bus.
  void end() {
    if (!state) return;
    runtime::block_on(loop, state->stop());
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, bus->stop());
    state.reset();
  }
  void restart() {
    end();
    bus = std::make_unique<Bus>(BusParts{loop, ids, metrics}, BusOptions{.call_timeout = 60s});
    begin_on_disk();
  }
  // The result as text ("none" when there is none), or "code: message".
  static std::string answer(Peer& peer) {
    const Value frame = peer.answer();
    if (frame.is_null()) return "no answer";
    if (const Value* error = frame.find("error"))
      return error->string_or("code") + ": " + error->string_or("message");
    const Value* result = frame.find("result");
    return result == nullptr ? "none" : json::write(*result);
  }
  static std::string ask(Peer& peer, std::string_view id, std::string_view data) {
    peer.call(id, json::parse(data).value());
    return answer(peer);
  }
  static void watch(Peer& peer, std::string_view function, std::string_view config,
                    std::string_view id = "t1") {
    peer.tell(Value::object({{"type", "registertrigger"},
                             {"id", id},
                             {"trigger_type", "state"},
                             {"function_id", function},
                             {"config", json::parse(config).value()}}));
  }
  // What the oldest call that the worker was sent is about; "" when it was sent none.
  static std::string told(Peer& peer) {
    const Value call = peer.next("invokefunction");
    return call.is_null() ? "" : json::write(*call.find("data"));
  }

  testing::MemoryRecords disk{loop};
  std::unique_ptr<State> state;
};

TEST_F(StateTest, SetGetDeleteAndList) {
  begin();
  Peer& worker = join();
  EXPECT_EQ(ask(worker, "state::get", R"({"scope":"s","key":"k"})"), "none");
  EXPECT_EQ(ask(worker, "state::set", R"({"scope":"s","key":"k","value":{"n":1}})"),
            R"({"old_value":null,"new_value":{"n":1}})");
  EXPECT_EQ(ask(worker, "state::set", R"({"scope":"s","key":"k","data":[2]})"),
            R"({"old_value":{"n":1},"new_value":[2]})");
  EXPECT_EQ(ask(worker, "state::set", R"({"scope":"s","key":"a","value":null})"),
            R"({"old_value":null,"new_value":null})");
  EXPECT_EQ(ask(worker, "state::get", R"({"scope":"s","key":"k"})"), "[2]");
  EXPECT_EQ(ask(worker, "state::list", R"({"scope":"s"})"), "[[2],null]");
  EXPECT_EQ(ask(worker, "state::list", R"({"scope":"none"})"), "[]");
  EXPECT_EQ(ask(worker, "state::list_groups", "{}"), R"({"groups":["s"]})");
  EXPECT_EQ(ask(worker, "state::delete", R"({"scope":"s","key":"k"})"), "[2]");
  EXPECT_EQ(ask(worker, "state::delete", R"({"scope":"s","key":"k"})"), "none");
  EXPECT_EQ(ask(worker, "state::list", R"({"scope":"s"})"), "[null]");
}

TEST_F(StateTest, AnUpdateGivesBothValuesAndItsErrors) {
  begin();
  Peer& worker = join();
  EXPECT_EQ(ask(worker, "state::update",
                R"({"scope":"s","key":"k","ops":[{"type":"increment","path":"n","by":2}]})"),
            R"({"old_value":null,"new_value":{"n":2}})");
  EXPECT_EQ(
      ask(worker, "state::update",
          R"({"scope":"s","key":"k","ops":[{"type":"set","path":"__proto__","value":1},{"type":"append","path":"e","value":"x"}]})"),
      R"({"old_value":{"n":2},"new_value":{"n":2,"e":"x"},"errors":[{"op_index":0,"code":"set.path.proto_polluted",)"
      R"("message":"the path must not contain the key __proto__"}]})");
}

TEST_F(StateTest, WhatIsWrongIsNamedWithIiisCodes) {
  begin({.limits = {.value_bytes = 10}});
  Peer& worker = join();
  EXPECT_EQ(ask(worker, "state::get", R"({"scope":"s"})"),
            "serialization_error: key is missing; it must be a text");
  EXPECT_EQ(ask(worker, "state::set", R"({"scope":3,"key":"k","value":1})"),
            "serialization_error: scope must be a text");
  EXPECT_EQ(ask(worker, "state::set", R"({"scope":"s","key":"k"})"), "serialization_error: value is missing");
  EXPECT_EQ(ask(worker, "state::list", "[]").substr(0, 20), "serialization_error:");
  EXPECT_EQ(ask(worker, "state::set", R"({"scope":"s","key":"k","value":"123456789"})"),
            "SET_ERROR: a value of 11 bytes; the limit is 10");
  EXPECT_EQ(ask(worker, "state::update",
                R"({"scope":"s","key":"k","ops":[{"type":"set","path":"","value":"123456789"}]})"),
            "UPDATE_ERROR: a value of 11 bytes; the limit is 10");
  EXPECT_EQ(ask(worker, "state::update", R"({"scope":"s","key":"k","ops":3})"),
            "UPDATE_ERROR: ops must be an array of operations");
  const std::string longest(items::kMaxItemKeyBytes, 'k');
  EXPECT_EQ(ask(worker, "state::get", fmt::format(R"({{"scope":"s","key":"{}"}})", longest)), "none");
  EXPECT_EQ(ask(worker, "state::get", fmt::format(R"({{"scope":"s","key":"{}k"}})", longest)).substr(0, 10),
            "GET_ERROR:");
  EXPECT_EQ(
      ask(worker, "state::delete", fmt::format(R"({{"scope":"{}k","key":"k"}})", longest)).substr(0, 13),
      "DELETE_ERROR:");
}

TEST_F(StateTest, UsersAreApart) {
  begin();
  Peer& ann = join();
  Peer& bob = join({"bus:*"}, "bob");
  bob.provide("b::on");
  watch(bob, "b::on", "{}");
  ask(ann, "state::set", R"({"scope":"s","key":"k","value":1})");
  EXPECT_EQ(ask(bob, "state::get", R"({"scope":"s","key":"k"})"), "none");
  EXPECT_EQ(ask(bob, "state::list", R"({"scope":"s"})"), "[]");
  EXPECT_EQ(ask(bob, "state::list_groups", "{}"), R"({"groups":[]})");
  EXPECT_EQ(ask(bob, "state::delete", R"({"scope":"s","key":"k"})"), "none");
  EXPECT_EQ(
      told(bob),
      R"({"type":"state","event_type":"state:deleted","scope":"s","key":"k","old_value":null,"new_value":null})");
  EXPECT_EQ(told(bob), "");
  EXPECT_EQ(ask(ann, "state::get", R"({"scope":"s","key":"k"})"), "1");
}

TEST_F(StateTest, TriggersFireForWhatTheyWatch) {
  begin();
  Peer& worker = join();
  for (const char* id : {"w::all", "w::scope", "w::key", "w::other"}) worker.provide(id);
  watch(worker, "w::all", "{}", "t1");
  watch(worker, "w::scope", R"({"scope":"s"})", "t2");
  watch(worker, "w::key", R"({"scope":"s","key":"k"})", "t3");
  watch(worker, "w::other", R"({"scope":"s","key":"other"})", "t4");
  ask(worker, "state::set", R"({"scope":"s","key":"k","value":"\u00e9"})");
  for (const char* id : {"w::all", "w::scope", "w::key"}) {
    const Value call = worker.next("invokefunction");
    EXPECT_EQ(call.string_or("function_id"), id);
    EXPECT_EQ(json::write(*call.find("data")),
              "{\"type\":\"state\",\"event_type\":\"state:created\",\"scope\":\"s\",\"key\":\"k\",\"old_"
              "value\":null,\"new_value\":\"\u00e9\"}");
  }
  EXPECT_EQ(told(worker), "");
  for (const char* id : {"t1", "t2"}) worker.tell(Value::object({{"type", "unregistertrigger"}, {"id", id}}));
  ask(worker, "state::update", R"({"scope":"s","key":"k","ops":[{"type":"set","path":"","value":2}]})");
  EXPECT_EQ(json::parse(told(worker))->string_or("event_type"), "state:updated");
  ask(worker, "state::delete", R"({"scope":"s","key":"k"})");
  EXPECT_EQ(
      told(worker),
      R"({"type":"state","event_type":"state:deleted","scope":"s","key":"k","old_value":2,"new_value":null})");
  EXPECT_EQ(state->status().int_or("triggers", 0), 2);
  worker.leave();
  EXPECT_EQ(state->status().int_or("triggers", -1), 0);
}

TEST_F(StateTest, AConditionDecidesAndAWrongTriggerIsRefused) {
  begin();
  Peer& worker = join();
  worker.provide("w::on");
  worker.provide("w::if");
  watch(worker, "w::on", R"({"scope":"s","condition_function_id":"w::if"})");
  for (const bool met : {false, true}) {
    ask(worker, "state::set", R"({"scope":"s","key":"k","value":1})");
    EXPECT_EQ(worker.serve(met), "w::if");
    EXPECT_EQ(worker.next("invokefunction").string_or("function_id"), met ? "w::on" : "");
  }
  watch(worker, "w::on", R"({"scope":7})", "t2");
  EXPECT_EQ(worker.next("triggerregistrationresult").find("error")->string_or("message"),
            "the scope of a state trigger is a text, not integer");
}

TEST_F(StateTest, ATriggerOfItsOwnMakingComesToAnEnd) {
  begin();
  Peer& worker = join();
  worker.provide("w::on");
  // Each deletion is told to what deletes again.
  watch(worker, "state::delete", R"({"scope":"s","key":"k"})");
  bus->receive(worker.worker,
               R"({"type":"invokefunction","invocation_id":"c1","function_id":"state::delete",)"
               R"("data":{"scope":"s","key":"k"}})");
  loop.run_ready();
  EXPECT_EQ(answer(worker), "none");
  EXPECT_EQ(worker.worker->calls_made, 0U);
}

TEST_F(StateTest, WithoutTriggersTheirTypeIsUnknown) {
  begin({.triggers = StateOptions::Triggers::kNo});
  Peer& worker = join();
  worker.call("engine::workers::register", Value::object({{"name", "w"}, {"version", "0.9.0"}}));
  watch(worker, "w::on", "{}");
  EXPECT_FALSE(worker.next("triggerregistrationresult")
                   .is_null());  // an SDK that does not know that a trigger may wait
  EXPECT_EQ(state->status().int_or("triggers", -1), 0);
}

TEST_F(StateTest, AnAnswerAndItsTriggersComeAfterTheDisk) {
  begin_on_disk();
  Peer& worker = join();
  worker.provide("w::on");
  watch(worker, "w::on", "{}");
  disk.hold();
  EXPECT_EQ(ask(worker, "state::set", R"({"scope":"s","key":"k","value":1})"), "no answer");
  EXPECT_EQ(told(worker), "");
  disk.release();
  EXPECT_EQ(answer(worker), R"({"old_value":null,"new_value":1})");
  EXPECT_EQ(
      told(worker),
      R"({"type":"state","event_type":"state:created","scope":"s","key":"k","old_value":null,"new_value":1})");
  restart();
  Peer& later = join();
  EXPECT_EQ(ask(later, "state::get", R"({"scope":"s","key":"k"})"), "1");
  EXPECT_EQ(state->status().string_or("store_method"), "file_based");
}

TEST_F(StateTest, ADiskThatRefusesIsTheCallersError) {
  begin_on_disk();
  Peer& worker = join();
  worker.provide("w::on");
  watch(worker, "w::on", "{}");
  disk.failure = Error{.code = Code::kUnavailable, .message = "disk full"};
  EXPECT_EQ(ask(worker, "state::set", R"({"scope":"s","key":"k","value":1})"), "SET_ERROR: disk full");
  EXPECT_EQ(ask(worker, "state::update", R"({"scope":"s","key":"k","ops":[]})"), "UPDATE_ERROR: disk full");
  EXPECT_EQ(told(worker), "");
  EXPECT_EQ(ask(worker, "state::get", R"({"scope":"s","key":"k"})"), "none");
}

TEST_F(StateTest, AWorkerThatLeavesWhileTheDiskWorksIsNotMissed) {
  begin_on_disk();
  Peer& worker = join();
  disk.hold();
  worker.call("state::set", json::parse(R"({"scope":"s","key":"k","value":1})").value());
  worker.leave();
  disk.release();
  loop.run_ready();
  Peer& other = join();
  EXPECT_EQ(ask(other, "state::get", R"({"scope":"s","key":"k"})"), "1");
}

}  // namespace
}  // namespace chela::bus::state
