#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <type_traits>

#include "net/http_server.h"
#include "runtime/pool.h"
#include "runtime/task_group.h"
#include "testing/raw_socket.h"

namespace chela::testing {

// A real server on loopback and blocking clients in pool threads beside it. Header only: it needs GoogleTest, which tests link.
class HttpFixture : public ::testing::Test {
 protected:
  void start(net::HttpHandler handler, net::HttpServerOptions options = {}) {
    server_ = std::make_unique<net::HttpServer>(loop_, std::move(options), std::move(handler));
    const Result<std::uint16_t> port = server_->listen_tcp("127.0.0.1", 0);
    ASSERT_TRUE(port) << port.error().text();
    port_ = *port;
  }

  void TearDown() override {
    if (server_) stop(std::chrono::seconds(0));
  }

  void stop(std::chrono::milliseconds grace) { runtime::block_on(loop_, server_->stop(grace)); }

  // Runs the client in a thread while the loop serves it.
  template <class Client>
  std::invoke_result_t<Client> client(Client run) {
    using Value = std::invoke_result_t<Client>;
    Result<Value> value = runtime::block_on(
        loop_, pool_.run([run = std::move(run)]() mutable -> Result<Value> { return run(); }));
    return *std::move(value);
  }

  // Sends the bytes on a new connection and reads until the server closes it.
  std::string exchange(std::string bytes) {
    return client([port = port_, bytes = std::move(bytes)] {
      RawSocket socket = RawSocket::connect_tcp(port);
      socket.send(bytes);
      return socket.read_to_end();
    });
  }

  runtime::AsioLoop loop_;
  runtime::Pool pool_{loop_, 4};
  std::unique_ptr<net::HttpServer> server_;
  std::uint16_t port_ = 0;
};

}  // namespace chela::testing
