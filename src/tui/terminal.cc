#include "tui/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "os/file.h"

namespace chela::tui {
namespace {

constexpr std::string_view kBegin = "\x1b[?2004h";                // mark what is pasted
constexpr std::string_view kEnd = "\x1b[?2004l\x1b[?25h\x1b[0m";  // and show the cursor, plain
constexpr std::array kFatal{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// What restore_terminal() needs; written before `held` is set.
struct Saved {
  std::atomic<bool> held = false;
  int in = -1;
  int out = -1;
  termios before{};
  std::array<struct sigaction, kFatal.size()> actions{};
};
Saved saved;

void write_now(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the terminal has gone
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// The terminal first, then whatever would have happened without us.
extern "C" void on_fatal(int number) {
  restore_terminal();
  for (size_t i = 0; i < kFatal.size(); ++i) {
    if (kFatal[i] == number) ::sigaction(number, &saved.actions[i], nullptr);
  }
  ::raise(number);
}

void hold_fatal_signals() {
  struct sigaction action{};
  action.sa_handler = on_fatal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_NODEFER;
  for (size_t i = 0; i < kFatal.size(); ++i) ::sigaction(kFatal[i], &action, &saved.actions[i]);
}

void release_fatal_signals() {
  for (size_t i = 0; i < kFatal.size(); ++i) ::sigaction(kFatal[i], &saved.actions[i], nullptr);
}

Result<> take(int in, int out) {
  termios raw = saved.before;
  raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(in, TCSADRAIN, &raw) != 0) return fail(os::system_error(errno, "set", "the terminal"));
  saved.held = true;
  write_now(out, kBegin);
  return {};
}

}  // namespace

void restore_terminal() {
  if (!saved.held.exchange(false)) return;
  write_now(saved.out, kEnd);
  ::tcsetattr(saved.in, TCSADRAIN, &saved.before);
}

Result<Terminal> Terminal::open(int in, int out) {
  if (::isatty(in) != 1 || ::isatty(out) != 1 || ::tcgetattr(in, &saved.before) != 0)
    return fail(Code::kUnsupported, "input and output are no terminal");
  saved.in = in;
  saved.out = out;
  hold_fatal_signals();
  if (const Result<> taken = take(in, out); !taken) {
    release_fatal_signals();
    return fail(taken.error());
  }
  return Terminal(in, out);
}

Terminal::~Terminal() {
  if (in_ < 0) return;
  restore_terminal();
  release_fatal_signals();
}

Size Terminal::size() const {
  winsize size{};
  if (::ioctl(out_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

void Terminal::suspend() {
  restore_terminal();
  ::raise(SIGTSTP);
  take_again();
}

// A failure means that the terminal has gone; reading from it says so.
void Terminal::take_again() const { std::ignore = take(in_, out_); }

Abilities abilities(std::string_view term, std::string_view no_color) {
  return {.screen = term.empty() || term == "dumb" ? Abilities::Screen::kPlain : Abilities::Screen::kPainted,
          .colour = no_color.empty() ? Colour::kOn : Colour::kOff};
}

}  // namespace chela::tui
