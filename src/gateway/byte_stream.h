#pragma once

#include <functional>
#include <memory>

#include "net/http_server.h"
#include "op/operation.h"

namespace chela::gateway {

// An operation's bytes as a chunked body. Lives in the coroutine that serves the request.
class ByteStream final : public op::ByteSink {
 public:
  ByteStream(std::shared_ptr<net::Exchange> exchange, std::function<net::Headers()> headers)
      : exchange_(std::move(exchange)), headers_(std::move(headers)) {}

  Result<> open(std::string content_type, std::optional<std::uint64_t> size) override;
  Task<Result<>> write(std::string bytes) override;

  bool opened() const { return opened_; }
  enum class End { kWhole, kCut };
  // Ends an opened body. A cut one breaks the connection, so that nobody takes it for whole.
  void finish(End end);

 private:
  std::shared_ptr<net::Exchange> exchange_;
  std::function<net::Headers()> headers_;
  bool opened_ = false;
};

}  // namespace chela::gateway
