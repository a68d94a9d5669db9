#pragma once

#include "api/openai_request.h"
#include "base/json.h"
#include "base/result.h"

namespace chela::api {

// The body of Anthropic's POST /v1/messages as a request to any model: blocks become messages, images and calls; thinking with a budget
// becomes a reasoning effort; what only Anthropic's own service knows (cache marks, service tier) is left out. Thinking that a client
// sends back is dropped: only the model that wrote it could read it. kInvalidArgument with detail "param" naming the field.
Result<ChatRequest> parse_anthropic_request(const json::Value& body);

}  // namespace chela::api
