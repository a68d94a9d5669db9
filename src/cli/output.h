#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace chela::cli {

// Where a command writes. Results go to `out`, everything else to `err`.
struct Output {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
  enum class Screen { kTerminal, kFile } screen = Screen::kFile;  // what `out` is

  void line(std::string_view text) const;
  void note(std::string_view text) const;  // a line on err
  // Text of models, tools and other people: on a terminal without the control characters that would steer it.
  void text(std::string_view text) const;
};

// The text without control characters (C0 but newline and tab, DEL, C1).
std::string printable(std::string_view text);

// Standard output and standard error of this process.
Output standard_output();

}  // namespace chela::cli
