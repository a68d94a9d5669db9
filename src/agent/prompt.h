#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agent/dependencies.h"
#include "base/time.h"

namespace chela::agent {

// The system prompt: the same bytes for the same sources. What changes from message to message (time, remembered lines) belongs to
// user_content. `client_system` is what a /v1 client sent as its system text.
std::string system_prompt(const AgentSpec& agent,
                          const std::vector<std::pair<std::string, std::string>>& identity,
                          const std::string& client_system);

// A person's message as the model sees it: a context block with the time and remembered lines, then the text.
std::string user_content(UnixMs now, const std::vector<std::string>& remembered, const std::string& text);

}  // namespace chela::agent
