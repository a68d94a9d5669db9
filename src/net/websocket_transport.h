#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/role.hpp>

#include <functional>
#include <memory>
#include <string>

#include "net/socket_stream.h"

namespace chela::net {

// A SocketStream as Beast wants to see one: reads come from the socket, writes go into the connection's one buffer and are done at
// once. So Beast's control frames and our data frames leave in the order they were made, each whole. For the handshakes of
// websocket_server.cc and websocket_client.cc only.
class WebSocketTransport {
 public:
  using executor_type = boost::asio::io_context::executor_type;
  using Handler = std::move_only_function<void(boost::system::error_code, size_t)>;

  // Gives Beast at most `read_at_most` bytes at a time.
  WebSocketTransport(runtime::AsioLoop& loop, std::shared_ptr<SocketStream> stream, std::string read_ahead,
                     size_t read_at_most = SIZE_MAX)
      : executor_(loop.context().get_executor()),
        read_at_most_(read_at_most),
        read_(std::make_shared<Read>(std::move(stream), std::move(read_ahead))) {}

  executor_type get_executor() const { return executor_; }
  SocketStream& stream() { return *read_->stream; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, size_t)>(
        [this](auto handler, const Buffers& into) {
          this->start_read(boost::asio::buffer(first(into), read_at_most_), std::move(handler));
        },
        token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, size_t)>(
        [this](auto handler, const Buffers& from) {
          size_t total = 0;
          for (auto it = boost::asio::buffer_sequence_begin(from);
               it != boost::asio::buffer_sequence_end(from); ++it) {
            const boost::asio::const_buffer part(*it);
            stream().send({static_cast<const char*>(part.data()), part.size()});
            total += part.size();
          }
          boost::system::error_code ec;
          if (stream().closed()) ec = boost::asio::error::connection_reset;
          finish(std::move(handler), ec, total);
        },
        token, buffers);
  }

 private:
  // What a pending read needs; it outlives the transport, whose owner may go while the socket is being watched.
  struct Read : std::enable_shared_from_this<Read> {
    Read(std::shared_ptr<SocketStream> s, std::string a) : stream(std::move(s)), ahead(std::move(a)) {}

    void wait() {
      stream->wait_readable([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ready();
      });
    }
    void ready() {
      const SocketStream::Read got = stream->read({static_cast<char*>(into.data()), into.size()});
      if (got.state == SocketStream::ReadState::kWouldBlock) return wait();
      boost::system::error_code ec;
      if (got.state == SocketStream::ReadState::kEnd) ec = boost::asio::error::eof;
      if (got.state == SocketStream::ReadState::kBroken) ec = boost::asio::error::connection_reset;
      if (Handler done = std::exchange(handler, {})) done(ec, got.bytes);
    }

    std::shared_ptr<SocketStream> stream;
    std::string ahead;  // read with the handshake's request
    boost::asio::mutable_buffer into;
    Handler handler;
  };

  template <class Buffers>
  static boost::asio::mutable_buffer first(const Buffers& buffers) {
    for (auto it = boost::asio::buffer_sequence_begin(buffers);
         it != boost::asio::buffer_sequence_end(buffers); ++it) {
      const boost::asio::mutable_buffer part(*it);
      if (part.size() > 0) return part;
    }
    return {};
  }

  template <class H>
  void start_read(boost::asio::mutable_buffer into, H handler) {
    if (read_->ahead.empty() && into.size() > 0) {
      read_->into = into;
      read_->handler = std::move(handler);
      read_->wait();
      return;
    }
    const size_t n = std::min(into.size(), read_->ahead.size());
    std::copy_n(read_->ahead.data(), n, static_cast<char*>(into.data()));
    read_->ahead.erase(0, n);
    finish(std::move(handler), {}, n);
  }

  // Asio forbids to complete inside the call that starts an operation.
  template <class H>
  void finish(H handler, boost::system::error_code ec, size_t bytes) {
    boost::asio::post(executor_, [handler = std::move(handler), ec, bytes]() mutable { handler(ec, bytes); });
  }

  executor_type executor_;
  size_t read_at_most_;
  std::shared_ptr<Read> read_;
};

// What Beast calls when a connection timed out, and when the closing handshake is over.
inline void beast_close_socket(WebSocketTransport& transport) { transport.stream().close(); }

inline void teardown(boost::beast::role_type, WebSocketTransport& transport, boost::system::error_code& ec) {
  ec = {};
  transport.stream().close();
}

template <class Handler>
void async_teardown(boost::beast::role_type, WebSocketTransport& transport, Handler&& handler) {
  transport.stream().finish([stream = transport.stream().weak_from_this()] {
    if (const auto self = stream.lock()) self->close();
  });
  boost::asio::post(transport.get_executor(),
                    [h = std::forward<Handler>(handler)]() mutable { h(boost::system::error_code{}); });
}

}  // namespace chela::net
