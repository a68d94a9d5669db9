#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "testing/scripted_answer.h"

// The same replies over the protocols of other providers. Written against their documentation, not against the adapters.
namespace chela::testing {

enum class Wire { kChat, kMessages, kOllama, kGemini, kResponses, kBedrock };

// The protocol that a path belongs to; nothing for other paths.
std::optional<Wire> wire_of(std::string_view path);

// What a request asks, in the form that rules look at. The path names the model where the body does not.
Asked asked_over(Wire wire, std::string_view path, const json::Value& body);

std::string_view content_type_of(Wire wire);
// One element an event, with its framing.
std::vector<std::string> events_over(Wire wire, const Reply& reply, const AnswerForm& form);
// An exception in the midst of an event stream of AWS.
std::string bedrock_exception(std::string_view name, std::string_view message);
// The body of a status that is no success.
std::string error_body_over(Wire wire, const Reply& reply);

}  // namespace chela::testing
