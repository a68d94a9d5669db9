#pragma once

#include <memory>
#include <optional>

#include "bus/channels/channels.h"
#include "net/http_server.h"

namespace chela::bus::channels {

// The ends of channels as WebSockets: /ws/channels/<id>?key=<access_key>&dir=read|write. The key is all the proof that is asked for.
// Loop thread only; outlives the HTTP servers that it serves.
class ChannelServer {
 public:
  ChannelServer(runtime::EventLoop& loop, Channels& channels) : loop_(loop), channels_(channels) {}

  // Serves the request; nothing when it is not for a channel.
  std::optional<Task<>> serve(std::shared_ptr<net::Exchange> exchange);

 private:
  Task<> serve_end(std::shared_ptr<net::Exchange> exchange, ChannelPtr channel, End end);
  Task<> serve_writer(std::unique_ptr<net::WebSocket> socket, ChannelPtr channel);
  Task<> serve_reader(std::unique_ptr<net::WebSocket> socket, ChannelPtr channel);

  runtime::EventLoop& loop_;
  Channels& channels_;
};

}  // namespace chela::bus::channels
