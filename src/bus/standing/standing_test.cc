#include "bus/standing/standing.h"

#include <fstream>

#include "bus/bus_fixture.h"
#include "testing/memory_records.h"
#include "testing/test_dir.h"

namespace chela::bus::standing {
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
    std::erase_if(bound, [&](const BoundTriggerPtr& each) { return each->key == trigger.key; });
  }
  std::vector<BoundTriggerPtr> bound;
};

class StandingTest : public BusTest {
 protected:
  StandingTest() {
    file = std::filesystem::path(dir.path()) / "triggers.db";
    std::ofstream(file) << "";  // records in memory have none, and without a file there is nothing to load
    EXPECT_TRUE(bus->add_trigger_type({.id = "bell", .description = "rings"}, bells));
    begin();
  }
  ~StandingTest() override {
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    end();
  }
  void begin() {
    module = std::make_unique<Standing>(
        loop, *bus, ids,
        Standing::Options{.file = file, .open = records.opener(), .restore = [this](op::Principal principal) {
                            return restore(std::move(principal));
                          }});
    EXPECT_TRUE(runtime::block_on(loop, module->start()));
  }
  void end() {
    runtime::block_on(loop, module->stop());
    runtime::block_on(loop, bus->stop());
    bells.bound.clear();
  }
  // What a restart is to the records.
  void restart() {
    end();
    module.reset();
    peers.clear();
    bus = std::make_unique<Bus>(BusParts{loop, ids, metrics}, BusOptions{.call_timeout = 60s});
    EXPECT_TRUE(bus->add_trigger_type({.id = "bell", .description = "rings"}, bells));
    begin();
  }
  Task<Result<Rights>> restore(op::Principal principal) {
    if (revoked) co_return fail(Code::kUnauthenticated, "revoked");
    co_return Rights{.principal = std::move(principal), .ended = token.get_token()};
  }
  static Value wish(Value config = Value::object()) {
    return Value::object({{"trigger_type", "bell"}, {"function_id", "w::on"}, {"config", std::move(config)}});
  }
  static std::string id_of(const Value& answer) {
    return answer.find("result") == nullptr ? "" : answer.find("result")->string_or("id");
  }
  static std::string problem(const Value& answer) {
    return answer.find("error") == nullptr ? "" : answer.find("error")->string_or("message");
  }

  testing::TestDir dir;
  std::filesystem::path file;
  testing::MemoryRecords records{loop};
  Bells bells;
  bool revoked = false;
  std::stop_source token;
  std::unique_ptr<Standing> module;
};

TEST_F(StandingTest, OutlivesItsConnectionAndFiresInItsName) {
  Peer& worker = join({"bus:call", "bus:register"});
  worker.call("engine::register_trigger", wish());
  EXPECT_FALSE(id_of(worker.answer()).empty());
  worker.leave();
  ASSERT_EQ(bells.bound.size(), 1u);
  EXPECT_EQ(bells.bound[0]->rights.principal.user, "ann");
  Peer& other = join();
  other.provide("w::on");
  bus->fire(bells.bound[0], Value::object());
  EXPECT_EQ(other.serve(), "w::on");
  token.request_stop();
  bus->fire(bells.bound[0], Value::object());
  EXPECT_EQ(other.serve(), "");
}

TEST_F(StandingTest, ComesBackAfterARestartUnlessItsTokenHasEnded) {
  Peer& worker = join();
  worker.call("engine::register_trigger", wish(Value::object({{"tone", "low"}})));
  restart();
  ASSERT_EQ(bells.bound.size(), 1u);
  EXPECT_EQ(bells.bound[0]->config.string_or("tone"), "low");
  revoked = true;
  restart();
  EXPECT_TRUE(bells.bound.empty());
  EXPECT_TRUE(records.rows(file).empty());
}

TEST_F(StandingTest, EndsForItsOwnerOnly) {
  Peer& worker = join();
  worker.call("engine::register_trigger", wish());
  const std::string id = id_of(worker.answer());
  Peer& stranger = join({"bus:call", "bus:register"}, "ben");
  stranger.call("engine::unregister_trigger", Value::object({{"id", id}}));
  EXPECT_EQ(json::write(*stranger.answer().find("result")), R"({"removed":false})");
  worker.call("engine::unregister_trigger", Value::object({{"id", id}}));
  EXPECT_EQ(json::write(*worker.answer().find("result")), R"({"removed":true})");
  EXPECT_TRUE(bells.bound.empty());
  EXPECT_TRUE(records.rows(file).empty());
}

TEST_F(StandingTest, WhatIsRefusedOrNotKeptIsNotThere) {
  Peer& worker = join();
  worker.call("engine::register_trigger", wish(Value::object({{"tone", "shrill"}})));
  EXPECT_EQ(problem(worker.answer()), "too shrill");
  records.failure = Error{.code = Code::kUnavailable, .message = "the disk is full"};
  worker.call("engine::register_trigger", wish());
  EXPECT_EQ(problem(worker.answer()), "the disk is full");
  records.failure.reset();
  EXPECT_EQ(bus->triggers().size(), 0u);
  EXPECT_TRUE(bells.bound.empty());
  Peer& caller = join({"bus:call"});
  caller.call("engine::register_trigger", wish());
  EXPECT_NE(problem(caller.answer()).find("bus:register"), std::string::npos);
}

TEST_F(StandingTest, AUserHasOnlySoMany) {
  Peer& worker = join();
  for (size_t i = 0; i < kMaxTriggersPerWorker; ++i) worker.call("engine::register_trigger", wish());
  worker.link.got.clear();
  worker.call("engine::register_trigger", wish());
  EXPECT_NE(problem(worker.answer()).find("at most"), std::string::npos);
  EXPECT_EQ(bells.bound.size(), kMaxTriggersPerWorker);
}

TEST_F(StandingTest, SeveralThatComeFirstShareTheFile) {
  std::filesystem::remove(file);
  restart();
  Peer& worker = join();
  for (const std::string_view each : {"a", "b", "c"})
    bus->receive(worker.worker, json::write(Value::object({{"type", "invokefunction"},
                                                           {"invocation_id", each},
                                                           {"function_id", "engine::register_trigger"},
                                                           {"data", wish()}})));
  loop.run_ready();
  EXPECT_EQ(bells.bound.size(), 3u);
  EXPECT_EQ(records.rows(file).size(), 3u);
}

}  // namespace
}  // namespace chela::bus::standing
