#pragma once

#include "obs/log.h"

namespace chela::log {

enum class TerminalForm { kPeople, kJson };  // kJson: the lines that the file gets

// What stderr shows from now on, and how; only where start() was told to show anything there. start() begins with kPeople.
void set_terminal(Level level, TerminalForm form);

}  // namespace chela::log
