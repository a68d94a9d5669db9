#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/websocket.h"

namespace chela::net {

enum class WebSocketEnd { kServer, kClient };

// The head of a frame that this end sends (RFC 6455, 5.2), and for a client its mask: append_masked() adds what follows it.
struct FrameHead {
  std::string bytes;
  std::array<char, 4> mask{};  // of zeros for a server's
};
FrameHead frame_head(WebSocketEnd sender, std::uint8_t first, size_t length);
// Masking is its own inverse. `at` is how many bytes of the payload came before these.
void append_masked(std::string& out, std::string_view bytes, const std::array<char, 4>& mask, size_t at = 0);

// The frames of the other end (RFC 6455, 5), from whatever pieces the socket gives: a client's have a mask, a server's none. No I/O, so
// the fuzzer drives it.
class FrameReader {
 public:
  enum class Event { kNeedMore, kMessage, kPing, kPong, kClose, kBroken };

  explicit FrameReader(size_t max_message_bytes, WebSocketEnd sender = WebSocketEnd::kClient)
      : max_message_bytes_(max_message_bytes), mask_bytes_(sender == WebSocketEnd::kClient ? 4 : 0) {}

  // Reads on until something is whole and takes what it has read off the front of `bytes`. After kClose and kBroken there is nothing
  // more to read.
  Event next(std::string_view& bytes);

  // After kMessage.
  Message take_message() { return {.kind = kind_, .data = std::exchange(message_, {})}; }
  // After kPing: what the pong repeats. After kClose: the close frame's payload, "" or a code and a reason, checked.
  std::string_view control() const { return control_; }
  // After kBroken: the code that the close frame should have.
  std::uint16_t fault() const { return fault_; }

 private:
  enum class Head { kMore, kWhole, kBad };
  Head read_head(std::string_view& bytes);
  bool check_start();
  bool check_length();
  void take_payload(std::string_view& bytes);
  Event frame_ended();
  Event close_ended();
  bool is_control() const { return (opcode_ & 0x8) != 0; }
  bool bad(std::uint16_t code) {
    fault_ = code;
    return false;
  }

  const size_t max_message_bytes_;
  const size_t mask_bytes_;
  std::array<char, 14> head_{};  // of the frame being read
  size_t head_bytes_ = 0;
  bool in_payload_ = false;
  bool in_message_ = false;  // a continuation must follow
  bool final_ = false;
  unsigned opcode_ = 0;
  std::uint64_t left_ = 0;  // bytes of the payload not read yet
  std::array<char, 4> mask_{};
  size_t mask_at_ = 0;
  MessageKind kind_ = MessageKind::kText;
  std::string message_;
  std::string control_;
  std::uint16_t fault_ = 0;
};

}  // namespace chela::net
