#pragma once

#include "bus/bus_fixture.h"
#include "bus/queue/queue_module.h"
#include "testing/memory_records.h"

namespace chela::bus::queue {

// A bus with queues on records that outlive them.
class QueueTest : public BusTest {
 protected:
  QueueTest() {
    Policy quick{.max_attempts = 2, .backoff = 100ms};
    settings.named.emplace("default", quick);
    Policy pay{.order = Policy::Order::kFifo, .max_attempts = 2, .backoff = 100ms, .group_field = "tx"};
    settings.named.emplace("pay", pay);
    settings.named.emplace("single", Policy{.concurrency = 1});
    settings.named.emplace("urgent", Policy{.concurrency = 1, .priority_field = "p", .max_priority = 9});
  }
  // Providers live until the bus has stopped.
  ~QueueTest() override { stop(); }

  void start() {
    make();
    module->opened();
  }
  void make() {
    auto made = std::make_unique<Queues>(loop, *bus, metrics, ids, settings, limits, restore);
    queues = made.get();
    module =
        std::make_unique<QueueModule>(*bus, std::move(made), [this] { return records.opener()("queues"); });
    const Result<> started = runtime::block_on(loop, module->start());
    ASSERT_TRUE(started) << started.error().text();
  }
  void stop() {
    if (module) runtime::block_on(loop, module->stop());
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, bus->stop());
    module.reset();
  }
  // As after a crash: what is on the disk is all there is.
  void crash() {
    const testing::MemoryRecords::Rows rows = records.rows("queues");
    stop();
    records.rows("queues") = rows;
    peers.clear();
    bus = std::make_unique<Bus>(BusParts{loop, ids, metrics}, BusOptions{.call_timeout = 60s});
    start();
  }

  // The receipt, or the error's code and message.
  std::string enqueue(Peer& peer, std::string_view queue, std::string_view function_id, json::Value data) {
    peer.tell(
        json::Value::object({{"type", "invokefunction"},
                             {"invocation_id", "e"},
                             {"function_id", function_id},
                             {"data", std::move(data)},
                             {"action", json::Value::object({{"type", "enqueue"}, {"queue", queue}})}}));
    return said(peer.answer());
  }
  std::string publish(Peer& peer, std::string_view topic, json::Value data) {
    peer.call("iii::durable::publish", json::Value::object({{"topic", topic}, {"data", std::move(data)}}));
    return said(peer.answer());
  }
  json::Value ask(Peer& peer, std::string_view function_id, json::Value data = json::Value::object()) {
    peer.call(function_id, std::move(data));
    const json::Value answer = peer.answer();
    const json::Value* result = answer.find("result");
    return result == nullptr ? json::Value(said(answer)) : *result;
  }
  static std::string said(const json::Value& answer) {
    if (answer.is_null()) return "no answer";
    if (const json::Value* error = answer.find("error"))
      return error->string_or("code") + ": " + error->string_or("message");
    const json::Value* result = answer.find("result");
    return result == nullptr ? "" : result->string_or("messageReceiptId");
  }
  void subscribe(Peer& peer, std::string_view id, std::string_view topic, std::string_view function_id,
                 json::Value more = json::Value::object(), std::string_view type = "durable:subscriber") {
    json::Value config = std::move(more);
    config.set("topic", topic);
    peer.tell(json::Value::object({{"type", "registertrigger"},
                                   {"id", id},
                                   {"trigger_type", type},
                                   {"function_id", function_id},
                                   {"config", std::move(config)}}));
  }
  // The data of the next delivery as text, which then waits for its end; "" when there is none.
  std::string take(Peer& peer) {
    loop.run_ready();
    const json::Value call = peer.next("invokefunction");
    if (call.is_null()) return "";
    open.push_back(call);
    return json::write(*call.find("data"));
  }
  void end(Peer& peer, std::string_view error = "") {
    json::Value frame = json::Value::object({{"type", "invocationresult"},
                                             {"invocation_id", open.front().string_or("invocation_id")},
                                             {"function_id", open.front().string_or("function_id")}});
    if (error.empty()) {
      frame.set("result", true);
    } else {
      frame.set("error", json::Value::object({{"code", "invocation_failed"}, {"message", error}}));
    }
    open.pop_front();
    peer.tell(frame);
    loop.run_ready();
  }
  // Everything there is to handle, handled in turn.
  std::string drain(Peer& peer) {
    std::string all;
    for (std::string each = take(peer); !each.empty(); each = take(peer)) {
      all += (all.empty() ? "" : " ") + each;
      end(peer);
    }
    return all;
  }
  // As if it had been there when the engine before this one ended; start() or crash() reads it.
  void put(const store::RecordChange& change) {
    records.rows("queues")[{.space = change.space, .key = change.key}] = *change.value;
  }
  size_t stored(std::string_view space) {
    size_t count = 0;
    for (const auto& [key, value] : records.rows("queues")) count += key.space == space ? 1 : 0;
    return count;
  }

  testing::MemoryRecords records{loop};
  Settings settings;
  Limits limits;
  RestoreRights restore;
  std::unique_ptr<QueueModule> module;
  Queues* queues = nullptr;
  std::deque<json::Value> open;
};

}  // namespace chela::bus::queue
