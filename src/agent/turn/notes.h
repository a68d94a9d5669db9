#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

// What the engine itself says to the model or in a conversation. These texts are rebuilt when a log is replayed, so a changed wording makes old
// sessions differ in their replay.
namespace chela::agent::turn {

inline constexpr std::string_view kLastStepNote =
    "This is the last step of this turn. Give your final answer now, without calling tools.";
inline constexpr std::string_view kDeniedResult =
    "The person declined this call. Do not repeat it. Go on without it, or say what you need and why.";
inline constexpr std::string_view kInterruptedResult =
    "interrupted: the engine restarted while this ran; outcome unknown, not repeated";
inline constexpr std::string_view kStoppedResult =
    "interrupted: the person stopped this turn before the call was finished";
inline constexpr std::string_view kTooManyCallsResult =
    "not run: too many calls in one answer; call fewer tools at a time";
inline constexpr std::string_view kCutCallNote =
    "Your answer was cut inside a tool call; nothing was run. Write that call again, shorter, or go on "
    "without it.";
inline constexpr std::string_view kUnreadableCallNote =
    "A tool call in your answer could not be read; nothing was run. Use the exact name of one of your tools "
    "and "
    "valid JSON for its arguments, or answer without tools.";

// Tells the model why its tools are switched off.
std::string repeated_call_note(std::string_view tool, int times);

// The question as text, for channels that have no other way to ask: what will run, with which arguments, and how to answer.
std::string approval_text(std::string_view tool, std::string_view description, const json::Value& arguments);
// Whether a text ends with such a question.
bool ends_with_question(std::string_view text);

// The same for a credential. What a person answers is not part of the conversation.
std::string credential_text(std::string_view name, std::string_view instructions);

}  // namespace chela::agent::turn
