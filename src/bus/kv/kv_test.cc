#include "bus/kv/kv.h"

#include "bus/bus_fixture.h"
#include "testing/memory_records.h"

namespace chela::bus::kv {
namespace {

using json::Value;

class KvTest : public BusTest {
 protected:
  ~KvTest() override {
    runtime::block_on(loop, kv->stop());
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, bus->stop());
    kv.reset();
  }
  void begin(std::filesystem::path file = {}) {
    kv = std::make_unique<Kv>(*bus, items::KeepConfig{.file = std::move(file)}, disk.opener());
    ASSERT_TRUE(runtime::block_on(loop, kv->start()));
  }
  static std::string ask(Peer& peer, std::string_view id, std::string_view data) {
    peer.call(fmt::format("kv_server::{}", id), json::parse(data).value());
    const Value frame = peer.answer();
    if (frame.is_null()) return "no answer";
    if (const Value* error = frame.find("error")) return error->string_or("code");
    const Value* result = frame.find("result");
    return result == nullptr ? "none" : json::write(*result);
  }

  testing::MemoryRecords disk{loop};
  std::unique_ptr<Kv> kv;
};

TEST_F(KvTest, ValuesByIndexAndKey) {
  begin();
  Peer& worker = join();
  EXPECT_EQ(ask(worker, "get", R"({"index":"i","key":"k"})"), "none");
  EXPECT_EQ(ask(worker, "set", R"({"index":"i","key":"k","value":{"n":1}})"),
            R"({"old_value":null,"new_value":{"n":1}})");
  EXPECT_EQ(ask(worker, "get", R"({"index":"i","key":"k"})"), R"({"n":1})");
  EXPECT_EQ(
      ask(worker, "update", R"({"index":"i","key":"k","ops":[{"type":"increment","path":"n","by":1}]})"),
      R"({"old_value":{"n":1},"new_value":{"n":2}})");
  ask(worker, "set", R"({"index":"i","key":"a","value":3})");
  ask(worker, "set", R"({"index":"index","key":"a","value":3})");
  EXPECT_EQ(ask(worker, "list", R"({"index":"i"})"), R"([{"n":2},3])");
  EXPECT_EQ(ask(worker, "list_keys_with_prefix", R"({"prefix":"in"})"), R"(["index"])");
  EXPECT_EQ(ask(worker, "list_keys_with_prefix", "{}"), R"(["i","index"])");
  EXPECT_EQ(ask(worker, "delete", R"({"index":"i","key":"k"})"), R"({"old_value":{"n":2}})");
  EXPECT_EQ(ask(worker, "delete", R"({"index":"i","key":"k"})"), R"({"old_value":null})");
  Peer& bob = join({"bus:*"}, "bob");
  EXPECT_EQ(ask(bob, "list", R"({"index":"i"})"), "[]");
}

TEST_F(KvTest, WhatIsWrongHasACode) {
  begin();
  Peer& worker = join();
  for (const char* id : {"get", "set", "delete", "update", "list"})
    EXPECT_EQ(ask(worker, id, "{}"), "serialization_error");
  EXPECT_EQ(ask(worker, "list_keys_with_prefix", R"({"prefix":1})"), "serialization_error");
  const std::string big(items::kMaxItemBytes, 'x');
  EXPECT_EQ(ask(worker, "set", fmt::format(R"({{"index":"i","key":"k","value":"{}"}})", big)), "SET_ERROR");
}

TEST_F(KvTest, ItIsAnsweredAfterTheDisk) {
  begin("kv.db");
  Peer& worker = join();
  disk.hold();
  EXPECT_EQ(ask(worker, "set", R"({"index":"i","key":"k","value":1})"), "no answer");
  disk.release();
  loop.run_ready();
  EXPECT_EQ(disk.rows("kv.db").size(), 1U);
  EXPECT_FALSE(worker.answer().is_null());
  disk.failure = Error{.code = Code::kUnavailable, .message = "disk full"};
  EXPECT_EQ(ask(worker, "delete", R"({"index":"i","key":"k"})"), "DELETE_ERROR");
  EXPECT_EQ(ask(worker, "get", R"({"index":"i","key":"k"})"), "1");
}

}  // namespace
}  // namespace chela::bus::kv
