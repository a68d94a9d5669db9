#pragma once

#include <vector>

#include "llm/provider.h"

namespace chela::api {

// A client of /v1 repeats all that was said, slash commands and their answers among it. They are no part of the thread's conversation, so
// they are left out here, and what /undo, /redo and /clear did to the thread is done to the repeated conversation: what is left is the
// transcript that the thread is found by. The newest message, which nobody has answered, stays whatever it is.
std::vector<llm::Message> without_commands(std::vector<llm::Message> messages);

}  // namespace chela::api
