#include "bus/engine_functions.h"

#include "bus/bus_fixture.h"

namespace chela::bus {
namespace {

using json::Value;

class EngineFunctionsTest : public BusTest {
 protected:
  // What the function answers the peer, null for an error.
  static Value ask(Peer& peer, std::string_view function, Value data = Value::object()) {
    peer.call(function, std::move(data));
    const Value answer = peer.answer();
    const Value* result = answer.find("result");
    return result ? *result : Value();
  }
  static void announce(Peer& peer, std::string name, std::string version = "0.22.1") {
    ask(peer, "engine::workers::register",
        Value::object({{"name", std::move(name)}, {"version", std::move(version)}}));
  }
  static std::set<std::string> texts(const Value& answer, std::string_view list, std::string_view key) {
    std::set<std::string> found;
    if (const Value* rows = answer.find(list)) {
      for (const Value& row : *rows->as_array()) found.insert(row.string_or(key));
    }
    return found;
  }
  static Value names(size_t count) {
    Value ids = Value::array();
    for (size_t i = 0; i < count; ++i) ids.push_back("math::add");
    return ids;
  }
};

TEST_F(EngineFunctionsTest, AWorkerIsFoundByItsNameOrItsId) {
  Peer& named = join();
  Peer& nameless = join();
  announce(named, "alpha");
  named.provide("math::add");
  const Value row = ask(nameless, "engine::workers::info", Value::object({{"name", "alpha"}}));
  EXPECT_EQ(row.string_or("id"), named.worker->id);
  EXPECT_EQ(row.string_or("status"), "available");
  EXPECT_EQ(row.int_or("function_count", 0), 1);
  EXPECT_EQ(
      ask(named, "engine::workers::info", Value::object({{"name", nameless.worker->id}})).string_or("status"),
      "connected");
  // No name is nobody's, also not that of a worker that has not said one.
  EXPECT_TRUE(ask(named, "engine::workers::info").is_null());
  EXPECT_TRUE(ask(named, "engine::workers::info", Value::object({{"name", ""}})).is_null());
}

TEST_F(EngineFunctionsTest, WhatAWorkerSaysOfItselfIsCut) {
  Peer& worker = join();
  announce(worker, std::string(kMaxMetadataBytes + 1, 'n'));
  EXPECT_EQ(worker.worker->info.name, std::string(kMaxMetadataBytes, 'n'));
}

TEST_F(EngineFunctionsTest, SeveralFunctionsAreToldAtOnceButNotAnyNumber) {
  Peer& worker = join();
  worker.provide("math::add");
  const Value one = ask(worker, "engine::functions::info", Value::object({{"function_id", "math::add"}}));
  EXPECT_EQ(one.string_or("function_id"), "math::add");
  const Value several = ask(worker, "engine::functions::info", Value::object({{"function_ids", names(32)}}));
  ASSERT_TRUE(several.is_object());
  EXPECT_EQ(several.find("functions")->as_array()->size(), 32u);
  for (Value wrong : {names(33), Value::array({"math::add", "math::none"}), Value::array({"math::add", 1})}) {
    EXPECT_TRUE(ask(worker, "engine::functions::info", Value::object({{"function_ids", std::move(wrong)}}))
                    .is_null());
  }
}

TEST_F(EngineFunctionsTest, ListsAreFiltered) {
  Peer& first = join();
  Peer& second = join();
  announce(first, "alpha");
  announce(second, "beta");
  first.provide("math::add");
  second.provide("text::upper");
  const auto listed = [&](Value filter) {
    return texts(ask(first, "engine::functions::list", std::move(filter)), "functions", "function_id");
  };
  using Ids = std::set<std::string>;
  EXPECT_EQ(listed(Value::object()), (Ids{"math::add", "text::upper"}));
  EXPECT_EQ(listed(Value::object({{"prefix", "math::"}})), Ids{"math::add"});
  EXPECT_EQ(listed(Value::object({{"search", "upp"}})), Ids{"text::upper"});
  EXPECT_EQ(listed(Value::object({{"worker", "beta"}})), Ids{"text::upper"});
  EXPECT_EQ(listed(Value::object({{"workers", Value::array({"alpha", "gamma"})}})), Ids{"math::add"});
  EXPECT_EQ(listed(Value::object({{"workers", Value::array()}})).size(), 2u);
  EXPECT_EQ(listed(Value::object({{"worker", 7}, {"workers", "alpha"}, {"prefix", Value()}})).size(), 2u);
}

TEST_F(EngineFunctionsTest, TriggersAreListedAndToldOneByOne) {
  Peer& owner = join();
  announce(owner, "alpha");
  owner.say(R"({"type":"registertriggertype","id":"clock","description":"ticks"})");
  owner.say(
      R"({"type":"registertrigger","id":"t1","trigger_type":"clock","function_id":"math::add","config":{"every":1}})");
  owner.say(
      R"({"type":"registertrigger","id":"t2","trigger_type":"clock","function_id":"math::sub","config":{}})");
  const auto listed = [&](Value filter) {
    return texts(ask(owner, "engine::registered-triggers::list", std::move(filter)), "registered_triggers",
                 "id");
  };
  using Ids = std::set<std::string>;
  EXPECT_EQ(listed(Value::object()), (Ids{"t1", "t2"}));
  EXPECT_EQ(listed(Value::object({{"function_id", "math::sub"}})), Ids{"t2"});
  EXPECT_EQ(listed(Value::object({{"trigger_type", "other"}})), Ids{});
  EXPECT_EQ(listed(Value::object({{"search", "add"}})), Ids{"t1"});
  const Value told = ask(owner, "engine::registered-triggers::info", Value::object({{"id", "t1"}}));
  EXPECT_EQ(*told.find("config"), Value::object({{"every", 1}}));
  EXPECT_EQ(told.string_or("worker_name"), "alpha");
  EXPECT_TRUE(ask(owner, "engine::registered-triggers::info", Value::object({{"id", "t3"}})).is_null());
  EXPECT_EQ(
      ask(owner, "engine::triggers::info", Value::object({{"id", "clock"}})).int_or("instance_count", 0), 2);
}

TEST_F(EngineFunctionsTest, ATriggerThatItsProviderRefusedIsNotAmongTheRegistered) {
  Peer& owner = join();
  owner.say(R"({"type":"registertriggertype","id":"clock","description":"ticks"})");
  owner.say(R"({"type":"registertrigger","id":"t1","trigger_type":"clock","function_id":"f","config":{}})");
  owner.say(R"({"type":"registertrigger","id":"t2","trigger_type":"clock","function_id":"g","config":{}})");
  owner.say(
      R"({"type":"triggerregistrationresult","id":"t2","trigger_type":"clock","function_id":"g","error":{"code":"c","message":"no"}})");
  EXPECT_EQ(texts(ask(owner, "engine::registered-triggers::list"), "registered_triggers", "id"),
            std::set<std::string>{"t1"});
  EXPECT_EQ(
      ask(owner, "engine::triggers::info", Value::object({{"id", "clock"}})).int_or("instance_count", 0), 1);
  EXPECT_FALSE(
      ask(owner, "engine::registered-triggers::info", Value::object({{"id", "t2"}})).bool_or("bound", true));
}

TEST_F(EngineFunctionsTest, OnlyAWorkerIntroducesItself) {
  const auto answer = runtime::block_on(
      loop, bus->call({.principal = {.realm = "default", .user = "ann", .permissions = {"*"}},
                       .scope = {"default", "ann", ""}},
                      "engine::workers::register", Value::object({{"name", "x"}})));
  EXPECT_FALSE(answer);
}

}  // namespace
}  // namespace chela::bus
