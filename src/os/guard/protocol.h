#pragma once

#include <cstdint>

// What the engine and chela-guard say to each other over the guard's descriptor 3, a SOCK_SEQPACKET pair.
// Engine to guard: one byte, the number of a signal for the child's group, or kKillAll. The end of the connection, by whatever reason the
// engine lets go of it, means kKillAll too.
namespace chela::os::guard {

inline constexpr int kControlFd = 3;
inline constexpr std::uint8_t kKillAll = 0;

// Guard to engine.
struct Report {
  enum Kind : std::int32_t {
    kStarted,      // value: the child's pid
    kNoDirectory,  // value: errno of the working directory
    kNotStarted,   // value: errno of the program
    kEnded,        // value: wait status; nothing of the child is left
  };
  Kind kind;
  std::int32_t value;
};

}  // namespace chela::os::guard
