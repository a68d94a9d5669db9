#pragma once

#include <string_view>
#include <utility>

#include "base/result.h"
#include "tui/painter.h"

namespace chela::tui {

// The terminal of this process while it gives every key at once, with pasted text marked. Its state before comes back with the destructor,
// and also when the process ends by _exit (through restore_terminal), a signal or an abort: the saved state is the one thing here that
// belongs to the process as a whole, as the terminal does. At most one at a time.
class Terminal {
 public:
  // kUnsupported when the descriptors are no terminal.
  static Result<Terminal> open(int in, int out);
  ~Terminal();
  Terminal(Terminal&& other) noexcept : in_(std::exchange(other.in_, -1)), out_(other.out_) {}
  Terminal& operator=(Terminal&&) = delete;
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Size size() const;
  // Gives the terminal back, stops the process as Ctrl-Z would, and takes the terminal again when it goes on.
  void suspend();
  // After a stop from outside (SIGCONT) the shell has changed the state.
  void take_again() const;

 private:
  Terminal(int in, int out) : in_(in), out_(out) {}

  int in_;
  int out_;
};

// Puts the terminal back if a Terminal holds it. Async-signal-safe.
void restore_terminal();

// What the environment says of the terminal's abilities.
struct Abilities {
  enum class Screen { kPainted, kPlain } screen;  // plain: TERM is dumb or unknown
  Colour colour;                                  // NO_COLOR
};
Abilities abilities(std::string_view term, std::string_view no_color);

}  // namespace chela::tui
