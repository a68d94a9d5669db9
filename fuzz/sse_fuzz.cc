// LINK net
// Any bytes are some stream; how they are cut does not change its events.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "net/sse.h"

using chela::net::SseEvent;
using chela::net::SseParser;

namespace {

constexpr size_t kLimit = 256;

std::vector<SseEvent> parse(std::string_view bytes, size_t piece) {
  SseParser parser(kLimit);
  std::vector<SseEvent> all;
  while (!bytes.empty()) {
    const chela::Result<std::vector<SseEvent>> events = parser.feed(bytes.substr(0, piece));
    if (!events) break;
    all.insert(all.end(), events->begin(), events->end());
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = data[0] % 16 + 1;
  CHELA_CHECK(parse(bytes, piece) == parse(bytes, bytes.size()),
              "the events depend on how the bytes are cut");
  return 0;
}
