#include "net/websocket_frames.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/utf8.h"

namespace chela::net {
namespace {

constexpr std::uint16_t kProtocolError = 1002;
constexpr std::uint16_t kBadText = 1007;
constexpr std::uint16_t kTooBig = 1009;
constexpr unsigned kContinuation = 0x0;
constexpr unsigned kText = 0x1;
constexpr unsigned kBinary = 0x2;
constexpr unsigned kClose = 0x8;
constexpr unsigned kPing = 0x9;
constexpr unsigned kPong = 0xa;
constexpr size_t kMaxControlBytes = 125;
// Of a message whose length is only claimed so far; memory that nothing is written to is none.
constexpr size_t kReserved = 256 * 1024;

// Codes that may stand in a close frame (RFC 6455, 7.4 and the registry).
bool may_be_sent(unsigned code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

}  // namespace

void append_masked(std::string& out, std::string_view bytes, const std::array<char, 4>& mask, size_t at) {
  std::array<char, 8> turned{};
  for (size_t i = 0; i < turned.size(); ++i) turned[i] = mask[(at + i) & 3];
  std::uint64_t wide = 0;
  std::memcpy(&wide, turned.data(), sizeof wide);
  const size_t before = out.size();
  const size_t size = before + bytes.size();
  // What it is told as the size is the capacity in some libraries (libstdc++ 12).
  out.resize_and_overwrite(size, [&](char* start, size_t) {
    char* const to = start + before;
    const char* const from = bytes.data();
    size_t i = 0;
    for (; i + sizeof wide <= bytes.size(); i += sizeof wide) {
      std::uint64_t block = 0;
      std::memcpy(&block, from + i, sizeof block);
      block ^= wide;
      std::memcpy(to + i, &block, sizeof block);
    }
    for (; i < bytes.size(); ++i) to[i] = static_cast<char>(from[i] ^ turned[i & 7]);
    return size;
  });
}

FrameHead frame_head(WebSocketEnd sender, std::uint8_t first, size_t length) {
  const bool masked = sender == WebSocketEnd::kClient;
  const int bytes = length < 126 ? 0 : length <= 0xffff ? 2 : 8;
  FrameHead head;
  head.bytes.push_back(static_cast<char>(first));
  head.bytes.push_back(static_cast<char>((masked ? 0x80 : 0) | (bytes == 0   ? length
                                                                : bytes == 2 ? 126
                                                                             : 127)));
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
    head.bytes.push_back(static_cast<char>(length >> shift & 0xff));
  if (!masked) return head;
  // Nobody on the way may be able to foresee what the payload will look like.
  CHELA_CHECK(::getentropy(head.mask.data(), head.mask.size()) == 0, "the kernel gives random bytes");
  head.bytes.append(head.mask.data(), head.mask.size());
  return head;
}

FrameReader::Event FrameReader::next(std::string_view& bytes) {
  if (fault_ != 0) return Event::kBroken;
  for (;;) {
    if (!in_payload_) {
      const Head head = read_head(bytes);
      if (head == Head::kMore) return Event::kNeedMore;
      if (head == Head::kBad) return Event::kBroken;
    }
    take_payload(bytes);
    if (left_ > 0) return Event::kNeedMore;
    in_payload_ = false;
    if (is_control() || final_) return frame_ended();
  }
}

FrameReader::Head FrameReader::read_head(std::string_view& bytes) {
  const auto fill = [&](size_t until) {
    const size_t n = std::min(until - head_bytes_, bytes.size());
    std::copy_n(bytes.data(), n, head_.data() + head_bytes_);
    head_bytes_ += n;
    bytes.remove_prefix(n);
    return head_bytes_ == until;
  };
  if (head_bytes_ < 2) {
    if (!fill(2)) return Head::kMore;
    if (!check_start()) return Head::kBad;
  }
  const unsigned short_length = static_cast<unsigned char>(head_[1]) & 0x7f;
  const size_t length_bytes = short_length == 127 ? 8 : short_length == 126 ? 2 : 0;
  if (!fill(2 + length_bytes + mask_bytes_)) return Head::kMore;
  left_ = length_bytes == 0 ? short_length : 0;
  for (size_t i = 0; i < length_bytes; ++i) left_ = left_ << 8 | static_cast<unsigned char>(head_[2 + i]);
  std::copy_n(head_.data() + 2 + length_bytes, mask_bytes_, mask_.data());
  mask_at_ = 0;
  head_bytes_ = 0;
  in_payload_ = true;
  return check_length() ? Head::kWhole : Head::kBad;
}

bool FrameReader::check_start() {
  const unsigned first = static_cast<unsigned char>(head_[0]);
  final_ = (first & 0x80) != 0;
  opcode_ = first & 0x0f;
  const bool masked = (static_cast<unsigned char>(head_[1]) & 0x80) != 0;
  if ((first & 0x70) != 0 || masked != (mask_bytes_ > 0)) return bad(kProtocolError);
  if (is_control()) {
    const bool known = opcode_ == kClose || opcode_ == kPing || opcode_ == kPong;
    if (!known || !final_ || (static_cast<unsigned char>(head_[1]) & 0x7f) > kMaxControlBytes)
      return bad(kProtocolError);
    control_.clear();
    return true;
  }
  if (opcode_ > kBinary || (opcode_ == kContinuation) != in_message_) return bad(kProtocolError);
  if (opcode_ != kContinuation) kind_ = opcode_ == kText ? MessageKind::kText : MessageKind::kBinary;
  in_message_ = true;
  return true;
}

bool FrameReader::check_length() {
  if (is_control()) return true;
  if (left_ > max_message_bytes_ || message_.size() + left_ > max_message_bytes_) return bad(kTooBig);
  message_.reserve(message_.size() + std::min<size_t>(left_, kReserved));
  return true;
}

void FrameReader::take_payload(std::string_view& bytes) {
  const std::string_view part = bytes.substr(0, left_);
  std::string& into = is_control() ? control_ : message_;
  if (mask_bytes_ > 0) {
    append_masked(into, part, mask_, mask_at_);
  } else {
    into += part;
  }
  mask_at_ = (mask_at_ + part.size()) & 3;
  left_ -= part.size();
  bytes.remove_prefix(part.size());
}

FrameReader::Event FrameReader::frame_ended() {
  if (opcode_ == kPing) return Event::kPing;
  if (opcode_ == kPong) return Event::kPong;
  if (opcode_ == kClose) return close_ended();
  in_message_ = false;
  if (kind_ == MessageKind::kBinary || utf8::valid(message_)) return Event::kMessage;
  bad(kBadText);
  return Event::kBroken;
}

FrameReader::Event FrameReader::close_ended() {
  if (control_.empty()) return Event::kClose;
  const unsigned code = control_.size() < 2
                            ? 0
                            : static_cast<unsigned>(static_cast<unsigned char>(control_[0])) << 8 |
                                  static_cast<unsigned char>(control_[1]);
  if (!may_be_sent(code)) {
    bad(kProtocolError);
  } else if (!utf8::valid(std::string_view(control_).substr(2))) {
    bad(kBadText);
  }
  return fault_ == 0 ? Event::kClose : Event::kBroken;
}

}  // namespace chela::net
