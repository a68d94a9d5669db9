// LINK net
// Any bytes are frames, a breach or not enough. How they are cut changes nothing, no message passes the limit, and text is text.

#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/utf8.h"
#include "net/websocket_frames.h"

namespace net = chela::net;

namespace {

constexpr size_t kMaxMessage = 300;

std::string read_all(std::string_view bytes, size_t piece) {
  net::FrameReader reader(kMaxMessage);
  std::string seen;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    std::string_view part = bytes.substr(at, piece);
    for (;;) {
      const net::FrameReader::Event event = reader.next(part);
      if (event == net::FrameReader::Event::kNeedMore) break;
      seen += fmt::format("[{}]", static_cast<int>(event));
      if (event == net::FrameReader::Event::kMessage) {
        const net::Message message = reader.take_message();
        CHELA_CHECK(message.data.size() <= kMaxMessage, "a message past its limit");
        CHELA_CHECK(message.kind == net::MessageKind::kBinary || chela::utf8::valid(message.data),
                    "text that is none");
        seen += message.data;
      } else if (event == net::FrameReader::Event::kClose || event == net::FrameReader::Event::kBroken) {
        return seen + std::to_string(reader.fault());
      } else {
        CHELA_CHECK(reader.control().size() <= 125, "a control frame past its limit");
        seen += reader.control();
      }
    }
    CHELA_CHECK(part.empty(), "bytes that nobody read");
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = read_all(bytes, std::max<size_t>(bytes.size(), 1));
  CHELA_CHECK(whole == read_all(bytes, 1), "cutting changed what was read");
  CHELA_CHECK(whole == read_all(bytes, 7), "cutting changed what was read");
  return 0;
}
