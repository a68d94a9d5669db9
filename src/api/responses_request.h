#pragma once

#include "api/openai_request.h"
#include "base/json.h"
#include "base/result.h"

namespace chela::api {

// The body of OpenAI's POST /v1/responses, checked.
struct ResponsesRequest {
  ChatRequest chat;    // thread_id is the one that previous_response_id leads to
  json::Value echoed;  // what an answer repeats of its request
};

// Items become messages, calls and results; reasoning that comes back is dropped: only the model that wrote it could read it.
// kInvalidArgument with detail "param" naming the field.
Result<ResponsesRequest> parse_responses_request(const json::Value& body);

// The ids of answers: those of an agent lead back to their thread.
std::string response_id(std::string_view thread, std::string_view answer);
// The thread of an agent's answer; nothing for any other id.
std::optional<std::string> thread_of_response(std::string_view id);

}  // namespace chela::api
