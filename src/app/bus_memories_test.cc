#include "app/bus_memories.h"

#include "app/limits.h"
#include "bus/bus_fixture.h"
#include "testing/fake_engine.h"

namespace chela::app {
namespace {

class BusMemoriesTest : public bus::BusTest {
 protected:
  BusMemoriesTest() { engine.known_threads = {"thread"}; }
  ~BusMemoriesTest() override { runtime::block_on(loop, memories.close()); }

  Peer& worker() {
    Peer& made = join({"bus:register", "bus:replace:memory::store"});
    made.provide("memory::store");
    return made;
  }
  // A turn as history shows it once it has ended.
  void end(std::string turn, agent::TurnState state = agent::TurnState::kCompleted) {
    agent::HistoryTurn ended;
    ended.id = turn;
    ended.user_input = "said in " + turn;
    ended.response = "answered in " + turn;
    ended.state = state;
    ended.usage = {.input_tokens = 7, .output_tokens = 3};
    engine.turns.push_back(std::move(ended));
    memories.turn_ended(scope, "thread", turn);
  }
  // What the worker is asked to store next, answered; null when it is not asked.
  json::Value stored(Peer& by) {
    loop.run_ready();
    const json::Value call = by.next("invokefunction");
    if (call.is_null()) return {};
    by.tell(json::Value::object({{"type", "invocationresult"},
                                 {"invocation_id", call.string_or("invocation_id")},
                                 {"function_id", "memory::store"},
                                 {"result", json::Value::object({{"stored", true}})}}));
    return *call.find("data");
  }

  Scope scope{.realm = "default", .user = "ann", .agent = "helper"};
  testing::FakeEngine engine{loop};
  BusMemories memories{loop, engine, *bus};
};

TEST_F(BusMemoriesTest, BothSidesOfATurnAreHandedOverInOrder) {
  Peer& by = worker();
  end("t1");
  end("t2");
  const json::Value said = stored(by);
  EXPECT_EQ(json::write(said),
            R"({"agentId":"helper","content":"said in t1","role":"user","sessionId":"thread"})");
  EXPECT_EQ(
      json::write(stored(by)),
      R"({"agentId":"helper","content":"answered in t1","role":"assistant","sessionId":"thread","tokenUsage":{"input":7,"output":3}})");
  EXPECT_EQ(stored(by).string_or("content"), "said in t2");
  EXPECT_EQ(stored(by).string_or("content"), "answered in t2");
  EXPECT_TRUE(stored(by).is_null());
}

TEST_F(BusMemoriesTest, WhatJoinedATurnIsPartOfIt) {
  Peer& by = worker();
  engine.turns.push_back({});
  engine.turns.back().id = "t1";
  engine.turns.back().user_input = "one";
  engine.turns.back().steered = {"two", "three"};
  engine.turns.back().state = agent::TurnState::kCompleted;
  memories.turn_ended(scope, "thread", "t1");
  EXPECT_EQ(stored(by).string_or("content"), "one\n\ntwo\n\nthree");
  EXPECT_TRUE(stored(by).is_null()) << "an empty answer is nothing to remember";
}

TEST_F(BusMemoriesTest, OnlyFinishedTurnsAndOnlyForWhoMayBeAsked) {
  end("unheard");
  Peer& by = worker();
  end("failed", agent::TurnState::kFailed);
  memories.turn_ended(scope, "thread", "gone");
  memories.turn_ended({.realm = "default", .user = "bob", .agent = "helper"}, "thread", "failed");
  EXPECT_TRUE(stored(by).is_null());
  end("heard");
  EXPECT_EQ(stored(by).string_or("content"), "said in heard");
  EXPECT_EQ(stored(by).string_or("content"), "answered in heard");
}

TEST_F(BusMemoriesTest, AFailureLosesItsTurnAlone) {
  Peer& by = worker();
  end("t1");
  end("t2");
  loop.run_ready();
  by.tell(json::Value::object({{"type", "invocationresult"},
                               {"invocation_id", by.next("invokefunction").string_or("invocation_id")},
                               {"function_id", "memory::store"},
                               {"error", json::Value::object({{"code", "full"}, {"message", "no room"}})}}));
  EXPECT_EQ(stored(by).string_or("content"), "said in t2");
  EXPECT_EQ(stored(by).string_or("content"), "answered in t2");
}

TEST_F(BusMemoriesTest, AWorkerThatNeverAnswersIsWaitedForSoLong) {
  Peer& by = worker();
  end("t1");
  end("t2");
  loop.run_ready();
  EXPECT_EQ(by.next("invokefunction").find("data")->string_or("content"), "said in t1");
  loop.advance(kBusStoreTime + std::chrono::seconds(1));
  EXPECT_EQ(stored(by).string_or("content"), "said in t2");
  EXPECT_EQ(stored(by).string_or("content"), "answered in t2");
}

TEST_F(BusMemoriesTest, ASlowWorkerIsOwedSoManyTurns) {
  Peer& by = worker();
  for (size_t i = 0; i < kMaxTurnsToStore + 10; ++i) end(std::to_string(i));
  std::vector<std::string> answers;
  for (json::Value said = stored(by); !said.is_null(); said = stored(by))
    if (said.string_or("role") == "assistant") answers.push_back(said.string_or("content"));
  // One more was under way.
  ASSERT_EQ(answers.size(), kMaxTurnsToStore + 1);
  EXPECT_EQ(answers.back(), "answered in " + std::to_string(kMaxTurnsToStore));
}

}  // namespace
}  // namespace chela::app
