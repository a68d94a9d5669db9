#pragma once

#include <thread>
#include <vector>

#include "bench/bus_peer.h"

namespace chela::bench {

// Records such as programs send, of about so many bytes.
inline std::string records(size_t bytes) {
  std::string out = "{\"items\":[";
  for (int i = 0; out.size() + 20 < bytes || i == 0; ++i) {
    if (i > 0) out += ',';
    out += "{\"id\":" + std::to_string(i) + ",\"name\":\"n" + std::to_string(i) + "\",\"ok\":true,\"v\":1.5}";
  }
  return out + "]}";
}

// What provides bench::echo while a run lasts, by a thread of its own: every call gets the same answer at once.
class EchoWorker {
 public:
  // `more` is registered too.
  EchoWorker(int port, const std::string& token, std::string result,
             const std::vector<std::string>& more = {})
      : peer_(port, token), result_(std::move(result)) {
    peer_.queue(R"({"type":"registerfunction","id":"bench::echo"})");
    for (const std::string& each : more) peer_.queue(each);
    peer_.settle();
    thread_ = std::thread([this] { serve(); });
  }
  ~EchoWorker() {
    peer_.shut();
    thread_.join();
  }
  EchoWorker(const EchoWorker&) = delete;
  EchoWorker& operator=(const EchoWorker&) = delete;

 private:
  void serve() {
    try {
      for (;;) {
        for (std::string_view frame = peer_.next(); !frame.empty(); frame = peer_.next()) {
          if (!frame.starts_with(R"({"type":"invokefunction")")) continue;
          std::string answer(R"({"type":"invocationresult","invocation_id":")");
          answer += id_of(frame);
          answer += R"(","function_id":"bench::echo","result":)";
          answer += result_;
          answer += '}';
          peer_.queue(answer);
        }
        peer_.flush();
        peer_.fill();
      }
    } catch (const std::runtime_error&) {
      return;  // the run is over
    }
  }

  Peer peer_;
  const std::string result_;
  std::thread thread_;
};

}  // namespace chela::bench
