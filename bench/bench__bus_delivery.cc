// A closed-loop load of messages over the bus, by its raw protocol: one connection sends, others are handed what it sent; C messages are
// under way, and each that has reached everybody begins the next. Prints one JSON object.
// Usage: bench__bus_delivery --port N --token T --concurrency C --bytes B --seconds S --subscribers N --kind pubsub|topic|queue
// Only to 127.0.0.1. An answer that is an error ends the run.

#include <poll.h>

#include <memory>
#include <vector>

#include "bench/bus_peer.h"
#include "bench/closed_loop.h"

namespace chela::bench {
namespace {

constexpr std::string_view kSlotKey = "\"slot\":";

struct Kind {
  std::string trigger;        // "" for none
  std::string before, after;  // what stands around the data of a call that sends
};

Kind kind_of(const std::string& name) {
  if (name == "pubsub")
    return {"subscribe", R"("function_id":"publish","data":{"topic":"bench","data":)", "}"};
  if (name == "topic")
    return {"durable:subscriber", R"("function_id":"iii::durable::publish","data":{"topic":"bench","data":)",
            "}"};
  if (name == "queue")
    return {"", R"("function_id":"bench::on0","action":{"type":"enqueue","queue":"default"},"data":)", ""};
  die("--kind must be pubsub, topic or queue");
}

// A connection that takes messages. Ready when its registrations are.
std::unique_ptr<Peer> subscriber(int port, const std::string& token, const Kind& kind, size_t number) {
  auto peer = std::make_unique<Peer>(port, token);
  const std::string id = std::to_string(number);
  peer->queue(R"({"type":"registerfunction","id":"bench::on)" + id + "\"}");
  if (!kind.trigger.empty())
    peer->queue(R"({"type":"registertrigger","id":"t)" + id + R"(","trigger_type":")" + kind.trigger +
                R"(","function_id":"bench::on)" + id + R"(","config":{"topic":"bench"}})");
  peer->settle();
  return peer;
}

size_t slot_of(std::string_view frame) {
  const size_t at = frame.find(kSlotKey);
  if (at == std::string_view::npos) die("a delivery without its number");
  return std::strtoul(frame.data() + at + kSlotKey.size(), nullptr, 10);
}

json::Value run(const Options& options) {
  const int port = static_cast<int>(options.number("--port"));
  const size_t concurrency = options.number("--concurrency");
  const size_t subscribers = options.number("--subscribers");
  if (port == 0 || concurrency == 0 || subscribers == 0 || options.seconds() <= 0)
    die("see the first lines of its source for the arguments");
  const Kind kind = kind_of(options.text("--kind"));
  const std::string filler(options.number("--bytes"), 'x');

  Peer sender(port, options.text("--token"));
  std::vector<std::unique_ptr<Peer>> peers;
  for (size_t i = 0; i < subscribers; ++i)
    peers.push_back(subscriber(port, options.text("--token"), kind, i));

  ClosedLoop loop(concurrency, options.seconds());
  std::vector<size_t> missing(concurrency);
  const auto send = [&](size_t slot) {
    loop.begin(slot);
    missing[slot] = subscribers;
    sender.queue(R"({"type":"invokefunction","invocation_id":"s",)" + kind.before + R"({"slot":)" +
                 std::to_string(slot) + R"(,"text":")" + filler + R"("})" + kind.after + "}");
  };
  const auto delivered = [&](size_t slot) {
    if (--missing.at(slot) == 0 && loop.finish(slot)) send(slot);
  };

  std::vector<pollfd> waiting{{.fd = sender.fd(), .events = POLLIN, .revents = 0}};
  for (const std::unique_ptr<Peer>& peer : peers)
    waiting.push_back({.fd = peer->fd(), .events = POLLIN, .revents = 0});
  for (size_t slot = 0; slot < concurrency; ++slot) send(slot);
  while (loop.goes_on()) {
    sender.flush();
    if (::poll(waiting.data(), waiting.size(), kPatienceMs) <= 0) die("a message is lost");
    if (waiting[0].revents != 0) {
      sender.fill();
      for (std::string_view frame = sender.next(); !frame.empty(); frame = sender.next()) {
        if (frame.find(R"("error":)") != std::string_view::npos) die(std::string(frame).c_str());
      }
    }
    for (size_t i = 0; i < peers.size(); ++i) {
      if (waiting[i + 1].revents == 0) continue;
      Peer& peer = *peers[i];
      do {
        peer.fill();
        for (std::string_view frame = peer.next(); !frame.empty(); frame = peer.next()) {
          if (!frame.starts_with(R"({"type":"invokefunction")")) continue;
          peer.queue(R"({"type":"invocationresult","invocation_id":")" + std::string(id_of(frame)) +
                     R"(","function_id":"bench::on","result":true})");
          delivered(slot_of(frame));
        }
        peer.flush();
      } while (peer.ahead());
    }
  }
  json::Value result = loop.result(subscribers);
  result.set("subscribers", subscribers);
  return result;
}

}  // namespace
}  // namespace chela::bench

int main(int argc, char** argv) {
  using namespace chela::bench;
  return print_result([options = Options(argc, argv)] { return run(options); });
}
