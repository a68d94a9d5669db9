#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "net/http_server.h"
#include "op/operation.h"
#include "runtime/event_loop.h"

namespace chela::gateway {

// An operation's events as server-sent events. A client that does not keep up, or has gone, is cut off. Lives in the coroutine that serves the
// request.
class EventStream final : public op::EventSink {
 public:
  // `headers` is asked when the stream begins: handlers may add theirs until then.
  // `open_streams` counts those that have begun and not ended. After `stop` no client is waited for.
  EventStream(runtime::EventLoop& loop, std::shared_ptr<net::Exchange> exchange,
              std::function<net::Headers()> headers, size_t& open_streams, std::stop_token stop);
  ~EventStream() override;
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  Result<> open() override;
  Result<> emit(op::Event event) override;
  Task<Result<>> drained() override;

  bool opened() const { return opened_; }
  // Ends an opened stream; with an error that is still to be told.
  void finish(const std::optional<op::Event>& last);

 private:
  Result<> write(std::string_view bytes);
  void keep_alive();

  runtime::EventLoop& loop_;
  std::shared_ptr<net::Exchange> exchange_;
  std::function<net::Headers()> headers_;
  size_t& open_streams_;
  const std::stop_token stop_;
  std::optional<runtime::TimerId> timer_;
  bool opened_ = false;
  bool broken_ = false;
};

}  // namespace chela::gateway
