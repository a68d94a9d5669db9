#pragma once

#include "cli/output.h"

namespace chela::app {

// `chela inspect tool-calls`: one line out for each line of the descriptor, at once; empty lines are passed over. A line that cannot be
// read is answered with an error in its line. 0, else the exit code of a descriptor that cannot be read.
int inspect_tool_calls(int input, const cli::Output& output);

}  // namespace chela::app
