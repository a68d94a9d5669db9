#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "bus/bus.h"
#include "bus/limits.h"
#include "runtime/completion.h"
#include "testing/manual_loop.h"

namespace chela::bus {

// A worker of tests: frames go in by say(), what the bus sends lies in `got`.
class FakeLink final : public Link {
 public:
  explicit FakeLink(runtime::EventLoop& loop) : loop_(loop) {}

  Result<> send(std::string_view frame) override {
    if (closed || refuses) return fail(Code::kUnavailable, "closed");
    Result<json::Value> value = json::parse(frame);
    EXPECT_TRUE(value) << frame;
    if (value) got.push_back(std::move(*value));
    return {};
  }
  size_t unsent() const override { return unread; }
  Task<Result<>> drained(size_t below, std::stop_token stop) override {
    if (unread <= below) co_return Result<>{};
    const runtime::Completion<bool> read(loop_);
    reading.push_back(read);
    const std::stop_callback on_stop(stop, [read] { read.resolve(false); });
    if (co_await read) co_return Result<>{};
    co_return fail(Code::kCancelled, "cancelled");
  }
  void close(std::uint16_t code, std::string_view) override {
    closed = true;
    close_code = code;
  }

  std::deque<json::Value> got;
  size_t unread = 0;
  bool refuses = false;
  bool closed = false;
  int close_code = 0;
  std::vector<runtime::Completion<bool>> reading;

 private:
  runtime::EventLoop& loop_;
};

class BusTest : public ::testing::Test {
 protected:
  struct Peer {
    BusTest& test;
    FakeLink link;
    WorkerPtr worker;

    WorkerPtr say(std::string_view frame) {
      WorkerPtr slow = test.bus->receive(worker, frame);
      test.loop.run_ready();
      return slow;
    }
    WorkerPtr tell(const json::Value& frame) { return say(json::write(frame)); }
    void provide(std::string_view id) {
      tell(json::Value::object({{"type", "registerfunction"}, {"id", id}}));
    }
    WorkerPtr call(std::string_view id, json::Value data = json::Value::object(),
                   std::string_view call_id = "c1") {
      return tell(json::Value::object({{"type", "invokefunction"},
                                       {"invocation_id", call_id},
                                       {"function_id", id},
                                       {"data", std::move(data)}}));
    }
    // The oldest frame of a type that has not been looked at; null when there is none.
    json::Value next(std::string_view type) {
      test.loop.run_ready();
      for (auto it = link.got.begin(); it != link.got.end(); ++it) {
        if (it->string_or("type") != type) continue;
        json::Value frame = std::move(*it);
        link.got.erase(it);
        return frame;
      }
      return {};
    }
    json::Value answer() { return next("invocationresult"); }
    // Answers the oldest call it was sent.
    std::string serve(json::Value result = json::Value::object({{"ok", true}})) {
      const json::Value call = next("invokefunction");
      if (call.is_null()) return {};
      tell(json::Value::object({{"type", "invocationresult"},
                                {"invocation_id", call.string_or("invocation_id")},
                                {"function_id", call.string_or("function_id")},
                                {"result", std::move(result)}}));
      return call.string_or("function_id");
    }
    void leave() {
      test.bus->disconnect(worker);
      test.loop.run_ready();
    }
  };

  BusTest() { bus = std::make_unique<Bus>(BusParts{loop, ids, metrics}, BusOptions{.call_timeout = 60s}); }
  ~BusTest() override {
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, bus->stop());
  }

  Peer& join(std::set<std::string, std::less<>> permissions = {"*"}, std::string user = "ann") {
    peers.push_back(std::unique_ptr<Peer>(new Peer{.test = *this, .link = FakeLink(loop), .worker = {}}));
    Peer& peer = *peers.back();
    peer.worker = bus->connect(
        peer.link,
        {.principal = {.realm = "default", .user = std::move(user), .permissions = std::move(permissions)}},
        "test");
    loop.run_ready();
    return peer;
  }

  testing::ManualLoop loop;
  testing::CountingIds ids;
  obs::Metrics metrics;
  std::unique_ptr<Bus> bus;
  std::vector<std::unique_ptr<Peer>> peers;
};

}  // namespace chela::bus
