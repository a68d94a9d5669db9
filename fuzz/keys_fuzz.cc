// LINK tui
// Any bytes are some typing: how they are cut does not change the keys' text, and the line stays valid whatever is pressed.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "tui/line_editor.h"

using namespace chela;

namespace {

std::string type(std::string_view bytes, size_t piece) {
  tui::History history;
  static_cast<void>(history.add("an earlier line"));
  tui::LineEditor editor(history, [](std::string_view line) {
    return std::vector<tui::Candidate>{{.line = std::string(line) + "more", .label = "more"}};
  });
  tui::KeyReader keys;
  std::string said;
  while (!bytes.empty()) {
    for (const tui::Key& key : keys.feed(bytes.substr(0, piece))) {
      if (editor.press(key) == tui::LineEditor::Outcome::kSubmitted) said += editor.take() + "\n";
      CHELA_CHECK(utf8::valid(editor.text()), "the line is no valid text");
    }
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  const tui::Picture picture = editor.picture({{.text = "> "}}, 10, tui::Colour::kOn);
  CHELA_CHECK(picture.row < picture.rows.size() && picture.column <= 10,
              "the cursor is outside of the picture");
  return said + editor.text();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (!utf8::valid(bytes)) {  // what is ill-formed may be mended in other places when it is cut
    type(bytes, data[0] % 16 + 1);
    return 0;
  }
  CHELA_CHECK(type(bytes, data[0] % 16 + 1) == type(bytes, bytes.size()),
              "the line depends on how the bytes are cut");
  return 0;
}
