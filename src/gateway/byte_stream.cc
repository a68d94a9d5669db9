#include "gateway/byte_stream.h"

namespace chela::gateway {
namespace {

constexpr size_t kHighWater = 256 * 1024;

}  // namespace

// The server frames the body in chunks, so a known size changes nothing.
Result<> ByteStream::open(std::string content_type, std::optional<std::uint64_t>) {
  net::Headers headers = headers_();
  headers.set("Content-Type", content_type);
  Result<> begun = exchange_->begin_stream(200, std::move(headers));
  opened_ = begun.has_value();
  return begun;
}

Task<Result<>> ByteStream::write(std::string bytes) {
  if (Result<> written = exchange_->write(bytes); !written) co_return written;
  co_return co_await exchange_->drained(kHighWater, exchange_->client_gone());
}

void ByteStream::finish(End end) {
  if (!opened_) return;
  if (end == End::kWhole) {
    exchange_->end_stream();
  } else {
    exchange_->abort();
  }
}

}  // namespace chela::gateway
