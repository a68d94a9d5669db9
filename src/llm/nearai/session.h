#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace chela::llm::nearai {

inline constexpr size_t kMaxSessionBytes = 64 * 1024;  // of the file that holds a session

// A variable of the environment; "" when it is not set.
using Variables = std::function<std::string(std::string_view name)>;

// The token of a person's session: NEARAI_SESSION_TOKEN, else the member "session_token" of the file NEARAI_SESSION_PATH
// (~/.ironclaw/session.json), where IronClaw's login writes it. "" when there is none.
std::string session_token(const Variables& variables);

}  // namespace chela::llm::nearai
