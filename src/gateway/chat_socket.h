#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/http_server.h"
#include "op/registry.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task_group.h"

namespace chela::gateway {

inline constexpr size_t kMaxChatFrameBytes =
    10 * 1024 * 1024;  // of a client's frame; a longer one closes the socket with 1009

// One client of /api/chat/ws: what chat::events tells goes out as frames, and the client's frames are calls of the operations that the
// routes under /api/chat have. So events, resuming, limits and permissions are those of the routes. Lives in the coroutine that serves
// the request.
class ChatSocket final : public op::EventSink {
 public:
  // `open_sockets` counts those that have begun and not ended. When `token_ended` fires, the socket closes with 1008.
  ChatSocket(runtime::EventLoop& loop, const op::Registry& registry, std::shared_ptr<net::Exchange> exchange,
             op::Principal principal, size_t& open_sockets, std::stop_token token_ended,
             size_t max_frame_bytes = kMaxChatFrameBytes);
  ~ChatSocket() override;
  ChatSocket(const ChatSocket&) = delete;
  ChatSocket& operator=(const ChatSocket&) = delete;

  // Upgrades and serves until either side ends. An error says why there is no socket; nothing is answered then. `events` is the
  // operation whose events are sent, `args` its prepared input.
  Task<Result<>> run(std::shared_ptr<const op::Operation> events, json::Value args);

  Result<> open() override;
  Result<> emit(op::Event event) override;
  Task<Result<>> drained() override;

 private:
  Task<> follow(std::shared_ptr<const op::Operation> events, json::Value args);
  Task<Result<>> serve();
  Task<> read();
  Task<json::Value> answer(net::Message message);
  Task<Result<json::Value>> call(std::string path, json::Value args);
  op::CallContext context(std::stop_token stop) const;
  Result<> send(std::string_view text);
  void end_token();
  void stop();

  const op::Registry& registry_;
  const std::shared_ptr<net::Exchange> exchange_;
  const op::Principal principal_;
  size_t& open_sockets_;
  const size_t max_frame_bytes_;
  const std::stop_token token_ended_;
  std::stop_source stop_;
  std::stop_source events_stop_;  // with stop_, or when the token has ended
  runtime::TaskGroup tasks_;
  runtime::Completion<bool> settled_;   // the subscription stands, or there will be none
  runtime::Completion<bool> attached_;  // the handshake is over
  bool opened_ = false;
  bool counted_ = false;
  std::optional<Result<>> ended_;   // how chat::events ended
  std::vector<std::string> early_;  // frames made before the handshake was over
  std::unique_ptr<net::WebSocket> socket_;
};

}  // namespace chela::gateway
