#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bus/bus.h"
#include "bus/limits.h"
#include "net/http_server.h"
#include "obs/metrics.h"
#include "runtime/asio_loop.h"

namespace chela::bus {

// What a connection says of itself before it is let in.
struct Visitor {
  std::string token;                                // `Authorization: Bearer` or ?token=; "" = none
  std::string peer;                                 // "127.0.0.1:40312"
  std::map<std::string, std::string> headers = {};  // lower-case names; of several the last
  std::map<std::string, std::vector<std::string>> query = {};  // decoded
};

// The token that a connection shows: `Authorization: Bearer`, else ?token=. "" when none.
std::string token_of(const net::HttpRequest& request);

struct Admission {
  Rights rights;
  SessionPtr session = {};
};

struct ServerOptions {
  enum class Refusal {
    kStatus,
    kFrame
  };  // an HTTP status instead of a WebSocket, or iii's error frame and a close

  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0 takes a free one
  // Who it is and what holds for it. An error refuses the connection.
  std::function<Task<Result<Admission>>(Visitor)> authenticate;
  Refusal refusal = Refusal::kStatus;
  std::chrono::milliseconds handshake_timeout = kHeaderReadTimeout;
  // What else is served on this port, without a token: asked first, gives nothing for a request that is not its.
  std::function<std::optional<Task<>>(std::shared_ptr<net::Exchange>)> beside = {};
  // Called before the metrics are read at /metrics: for what is only known when somebody looks.
  std::function<void()> measure = {};
  size_t max_connections = kMaxBusConnections;
  size_t max_unsent = kMaxUnsentBytes;  // of one connection; then it is cut off
};

// Where workers connect: / is the bus, /otel takes what SDKs measure and drops it, /call makes one call over plain HTTP, /metrics says how the
// engine is. A token comes as `Authorization: Bearer` or ?token=.
// Loop thread only. Its owner awaits stop(), after the bus's, before it goes.
class Server {
 public:
  Server(runtime::AsioLoop& loop, Bus& bus, obs::Metrics& metrics, ServerOptions options);

  // kConflict when the port is taken.
  Result<> listen();
  std::uint16_t port() const { return port_; }
  size_t connections() const { return server_.connections(); }
  Task<> stop(std::chrono::milliseconds grace);

 private:
  Task<> handle(std::shared_ptr<net::Exchange> exchange);
  Task<> serve_worker(std::shared_ptr<net::Exchange> exchange, Admission admitted);
  Task<> refuse(std::shared_ptr<net::Exchange> exchange, Error error);
  Task<> serve_telemetry(std::shared_ptr<net::Exchange> exchange, Rights rights);
  void serve_metrics(net::Exchange& exchange, const Admission& caller) const;

  runtime::AsioLoop& loop_;
  Bus& bus_;
  const ServerOptions options_;
  obs::Metrics& metrics_;
  obs::Counter& telemetry_;
  std::uint16_t port_ = 0;
  std::stop_source stopping_;
  net::HttpServer server_;
};

}  // namespace chela::bus
