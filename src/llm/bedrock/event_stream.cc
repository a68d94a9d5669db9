#include "llm/bedrock/event_stream.h"

#include <array>
#include <cstdint>
#include <optional>

namespace chela::llm::bedrock {
namespace {

// Length of all, length of the headers, checksum of both; headers; payload; checksum of everything before it.
constexpr size_t kPrelude = 12;
constexpr size_t kChecksum = 4;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1U) != 0 ? (value >> 1) ^ 0xedb88320U : value >> 1;
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xffU];
  return ~crc;
}

std::uint32_t number(std::string_view bytes, size_t size) {
  std::uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The bytes of a header's value after its type; nothing when there is no such type. Texts and byte strings say their length first.
std::optional<size_t> fixed_size(int type) {
  static constexpr std::array<int, 10> kSizes{0, 0, 1, 2, 4, 8, -1, -1, 8, 16};
  if (type < 0 || type >= static_cast<int>(kSizes.size()) || kSizes[static_cast<size_t>(type)] < 0)
    return std::nullopt;
  return static_cast<size_t>(kSizes[static_cast<size_t>(type)]);
}

class Headers {
 public:
  explicit Headers(std::string_view bytes) : bytes_(bytes) {}

  bool read_into(std::map<std::string, std::string, std::less<>>& out) {
    while (!bytes_.empty()) {
      const std::optional<std::string_view> size = take(1);
      const std::optional<std::string_view> name = size ? take(number(*size, 1)) : std::nullopt;
      const std::optional<std::string_view> type = name ? take(1) : std::nullopt;
      if (!type) return false;
      const int kind = static_cast<unsigned char>((*type)[0]);
      constexpr int kBytes = 6;
      constexpr int kText = 7;
      std::optional<std::string_view> value;
      if (kind == kBytes || kind == kText) {
        const std::optional<std::string_view> length = take(2);
        value = length ? take(number(*length, 2)) : std::nullopt;
      } else if (const std::optional<size_t> fixed = fixed_size(kind)) {
        value = take(*fixed);
      }
      if (!value) return false;
      if (kind == kText) out[std::string(*name)] = *value;
    }
    return true;
  }

 private:
  std::optional<std::string_view> take(size_t size) {
    if (size > bytes_.size()) return std::nullopt;
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
};

Failure broken(std::string_view what) { return fail(Code::kUpstream, "a broken event stream: {}", what); }

}  // namespace

Result<std::vector<Frame>> FrameParser::feed(std::string_view bytes) {
  rest_ += bytes;
  std::vector<Frame> out;
  std::string_view left = rest_;
  while (left.size() >= kPrelude) {
    const size_t total = number(left, 4);
    const size_t headers = number(left.substr(4), 4);
    if (number(left.substr(8), 4) != crc32(left.substr(0, 8))) return broken("a length's checksum is wrong");
    if (total > wire::kMaxEventBytes) return broken("a message is too large");
    if (total < kPrelude + kChecksum || headers > total - kPrelude - kChecksum)
      return broken("lengths that cannot be");
    if (left.size() < total) break;
    const std::string_view whole = left.substr(0, total);
    if (number(whole.substr(total - kChecksum), 4) != crc32(whole.substr(0, total - kChecksum)))
      return broken("a message's checksum is wrong");
    Frame frame;
    if (!Headers(whole.substr(kPrelude, headers)).read_into(frame.headers))
      return broken("headers that cannot be");
    frame.payload = whole.substr(kPrelude + headers, total - kPrelude - headers - kChecksum);
    out.push_back(std::move(frame));
    left.remove_prefix(total);
  }
  rest_.erase(0, rest_.size() - left.size());
  return out;
}

}  // namespace chela::llm::bedrock
