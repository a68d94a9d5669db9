#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "gateway/origin.h"
#include "net/http_server.h"
#include "obs/metrics.h"
#include "op/registry.h"
#include "runtime/asio_loop.h"
#include "security/authenticator.h"

namespace chela::gateway {

struct GatewayOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0 takes a free one
  enum class Tcp { kListen, kOff } tcp = Tcp::kListen;
  std::string socket;  // path of the Unix socket; "" = none
  size_t body_bytes = kMaxBodyBytes;
  size_t v1_body_bytes = kMaxV1BodyBytes;
  size_t header_bytes = kMaxHeaderBytes;
  std::chrono::milliseconds header_timeout = kHeaderReadTimeout;
  size_t connections = kMaxConnections;
  // Called before the metrics are read: for what is only known when somebody looks.
  std::function<void()> measure = {};
};

// The HTTP front of the operations: finds the route, knows the caller, reads the input, calls the handler, writes its answer. On TCP a caller
// shows a token, and an address that shows too many wrong ones is told to wait; on the Unix socket, which only the engine's own user can open,
// everybody is `owner`.
// Loop thread only. Its owner awaits stop() before it goes.
class Gateway {
 public:
  Gateway(runtime::AsioLoop& loop, const op::Registry& registry, security::Authenticator& authenticator,
          op::Principal owner, obs::Metrics& metrics, GatewayOptions options);

  // kConflict when the port or the socket is taken.
  Result<> listen();
  std::uint16_t port() const { return port_; }  // 0 without TCP
  size_t connections() const { return server_.connections(); }
  size_t event_streams() const { return event_streams_; }  // of server-sent events
  size_t sockets() const { return sockets_; }

  Task<> stop(std::chrono::milliseconds grace) { return server_.stop(grace); }

 private:
  struct Call;
  struct Admission;

  Task<> handle(std::shared_ptr<net::Exchange> exchange);
  Task<int> serve(const std::shared_ptr<net::Exchange>& exchange, std::string& operation);
  Task<int> answered(std::shared_ptr<net::Exchange> exchange, Task<Result<int>> served,
                     op::Envelope envelope);
  void count(const net::HttpRequest& request, const std::string& operation, int status,
             std::chrono::duration<double> took);
  Task<Result<op::Principal>> identify(const net::HttpRequest& request);
  Task<Result<Admission>> admit(std::shared_ptr<net::Exchange> exchange);
  Task<Result<int>> socket(std::shared_ptr<net::Exchange> exchange);
  Task<Result<int>> page(std::shared_ptr<net::Exchange> exchange);
  Task<Result<>> prepare(Call& call);
  Task<Result<int>> run(Call call);
  Task<Result<int>> run_value(Call& call);
  Task<Result<int>> run_events(Call& call);
  Task<Result<int>> run_bytes(Call& call);

  int reply(net::Exchange& exchange, net::HttpResponse response) const;
  int preflight(net::Exchange& exchange, const op::Match& match) const;
  net::Headers headers_for(const net::HttpRequest& request) const;

  runtime::AsioLoop& loop_;
  const op::Registry& registry_;
  security::Authenticator& authenticator_;
  const op::Principal owner_;
  obs::Metrics& metrics_;
  const GatewayOptions options_;
  OriginPolicy origins_;
  std::uint16_t port_ = 0;
  size_t event_streams_ = 0;
  size_t sockets_ = 0;
  net::HttpServer server_;
};

}  // namespace chela::gateway
