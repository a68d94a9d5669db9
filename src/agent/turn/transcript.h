#pragma once

#include <string>
#include <vector>

#include "llm/provider.h"

namespace chela::agent::turn {

// The rolling hash of a conversation as a client of /v1 sees it: user and assistant texts, client tool calls and their results, no
// system messages. `hash` is that of the messages before; "" for none.
std::string extend_transcript(const std::string& hash, const llm::Message& message);
std::string transcript_of(const std::vector<llm::Message>& messages);

}  // namespace chela::agent::turn
