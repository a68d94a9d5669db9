#pragma once

#include <cstddef>

namespace chela::llm::routing {

// Of a message so much is read: its beginning, and a quarter of it from its end. How long it is counts as a whole.
constexpr std::size_t kMaxReadBytes = 64 * 1024;
constexpr std::size_t kMaxPhraseWords = 6;
constexpr std::size_t kMaxGreetingWords = 5;
constexpr std::size_t kMaxSmallTalkWords = 10;  // "what is the weather like today"
constexpr std::size_t kMaxHintBytes = 24;       // "[tier: frontier]"
constexpr std::size_t kMaxTagBytes = 48;        // "<Tag attribute>" in code
constexpr std::size_t kTrialBytes = 400;        // of an answer's text, before it is known that it will do

}  // namespace chela::llm::routing
