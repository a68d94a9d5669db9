#include "net/http_server.h"

#include "net/http_connection.h"
#include "net/listener.h"
#include "runtime/sleep.h"

namespace chela::net {
namespace {

// Answers at once, without hearing what is asked for.
void refuse_unheard(const std::shared_ptr<HttpServerCore>& core,
                    const std::shared_ptr<SocketStream>& stream) {
  stream->send(core->refusal_bytes(connection_refusal("")));
  stream->finish([core, stream] {
    (void)stream->read(
        core->scratch);  // a request left unread would reset the connection before the client has the answer
    stream->close();
  });
}

void accepted(const std::shared_ptr<HttpServerCore>& core, Accepted client) {
  const auto stream =
      std::make_shared<SocketStream>(core->loop, std::move(client.socket),
                                     SocketStream::Limits{.max_unsent = core->options.max_write_buffer,
                                                          .write_stall = core->options.write_stall_timeout});
  const bool full = core->connections.size() - core->refused >= core->options.max_connections;
  if (full && core->refused >= kMaxRefusedConnections) {
    refuse_unheard(core, stream);
    return;
  }
  const auto connection =
      std::make_shared<HttpConnection>(core, stream, std::move(client.peer), client.transport);
  core->connections.insert(connection);
  if (full) {
    connection->start_refused();
  } else {
    connection->start();
  }
}

}  // namespace

struct HttpServer::State {
  std::shared_ptr<HttpServerCore> core;
  std::vector<std::unique_ptr<Listener>> listeners;

  Listener::OnAccept on_accept() {
    return [this](Accepted client) { accepted(core, std::move(client)); };
  }

  std::vector<std::shared_ptr<HttpConnection>> connections() const {
    return {core->connections.begin(), core->connections.end()};
  }
};

HttpServer::HttpServer(runtime::AsioLoop& loop, HttpServerOptions options, HttpHandler handler)
    : state_(std::make_shared<State>(
          std::make_shared<HttpServerCore>(loop, std::move(options), std::move(handler)))) {}

HttpServer::~HttpServer() {
  for (const auto& connection : state_->connections()) connection->abort();
}

Result<std::uint16_t> HttpServer::listen_tcp(const std::string& host, std::uint16_t port) {
  Result<std::unique_ptr<Listener>> listener =
      Listener::tcp(state_->core->loop, host, port, state_->on_accept());
  if (!listener) return fail(listener.error());
  const std::uint16_t real = (*listener)->port();
  state_->listeners.push_back(*std::move(listener));
  return real;
}

Result<> HttpServer::listen_unix(const std::string& path) {
  Result<std::unique_ptr<Listener>> listener =
      Listener::unix_socket(state_->core->loop, path, state_->on_accept());
  if (!listener) return fail(listener.error());
  state_->listeners.push_back(*std::move(listener));
  return {};
}

Task<> HttpServer::stop(std::chrono::milliseconds grace) {
  const std::shared_ptr<State> state = state_;
  HttpServerCore& core = *state->core;
  core.stopping = true;
  state->listeners.clear();
  for (const auto& connection : state->connections()) connection->stop();
  if (!core.connections.empty()) {
    core.all_closed.emplace(core.loop);
    const runtime::TimerId timer = core.loop.call_at(core.loop.clock().steady() + grace,
                                                     [done = *core.all_closed] { done.resolve(false); });
    co_await *core.all_closed;
    core.loop.cancel(timer);
  }
  for (const auto& connection : state->connections()) connection->abort();
  co_await core.handlers.join();
  co_await runtime::yield(core.loop);  // closed connections take their leave through the loop
}

size_t HttpServer::connections() const { return state_->core->connections.size() - state_->core->refused; }

}  // namespace chela::net
