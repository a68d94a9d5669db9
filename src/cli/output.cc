#include "cli/output.h"

#include <unistd.h>

#include <cerrno>

namespace chela::cli {
namespace {

// A reader that has gone (a closed pipe) is no error of the command.
void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void Output::line(std::string_view text) const { out(std::string(text) + "\n"); }
void Output::note(std::string_view text) const { err(printable(text) + "\n"); }
void Output::text(std::string_view text) const {
  out(screen == Screen::kTerminal ? printable(text) : std::string(text));
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) {
      ++i;
    } else if ((c >= 0x20 && c != 0x7F) || c == '\n' || c == '\t') {
      out += text[i];
    }
  }
  return out;
}

Output standard_output() {
  return Output{.out = [](std::string_view text) { write_all(STDOUT_FILENO, text); },
                .err = [](std::string_view text) { write_all(STDERR_FILENO, text); },
                .screen = ::isatty(STDOUT_FILENO) ? Output::Screen::kTerminal : Output::Screen::kFile};
}

}  // namespace chela::cli
