// LINK tui
// Any bytes are some Markdown: how they are cut does not change what is shown, nothing steers the terminal, and little is held back.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "tui/markdown.h"

using namespace chela;

namespace {

constexpr size_t kColumns = 24;
// Held back: one line, or a table whose cells may each take a row.
constexpr size_t kMostHeldRows = kMaxMarkdownTableBytes + 2 * kMaxMarkdownLineBytes;

void add(std::string& out, const std::vector<tui::Spans>& rows, tui::Colour colour) {
  for (const tui::Spans& each : rows) {
    const std::string text = tui::text_of(each);
    CHELA_CHECK(utf8::valid(text), "a row is no valid text");
    for (const char c : text)
      CHELA_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a row steers the terminal");
    out += tui::paint(each, colour) + "\n";
  }
}

std::string render(std::string_view bytes, size_t piece, tui::Colour colour) {
  tui::Markdown markdown(kColumns, colour);
  std::string out;
  size_t looks = 0;
  while (!bytes.empty()) {
    add(out, markdown.feed(bytes.substr(0, piece)), colour);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    if (++looks % 8 != 0) continue;  // looking at the tail changes nothing
    std::string seen;
    const std::vector<tui::Spans> tail = markdown.tail();
    CHELA_CHECK(tail.size() <= kMostHeldRows, "too much is held back");
    add(seen, tail, colour);
  }
  add(out, markdown.finish(), colour);
  CHELA_CHECK(markdown.empty(), "something is held back after the end");
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = data[0] % 16 + 1;
  const tui::Colour colour = data[0] & 0x80 ? tui::Colour::kOn : tui::Colour::kOff;
  CHELA_CHECK(render(bytes, piece, colour) == render(bytes, bytes.size(), colour),
              "what is shown depends on how the text is cut");
  return 0;
}
