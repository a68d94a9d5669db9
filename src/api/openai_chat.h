#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/answer.h"
#include "api/openai_request.h"
#include "api/services.h"
#include "op/operation.h"

namespace chela::api {

// The agent that a /v1 model name means: "chela" is the default one (""), "chela/<name>" that one; nothing for any other model.
std::optional<std::string> agent_of_model(std::string_view model);

AnswerHead new_head(const Services& services, std::string model);

// The agent or model that the request names answers, as a value or, where the request wants a stream, as events. The format outlives
// the call.
Task<Result<json::Value>> answer_chat(const Services& services, op::CallContext context, ChatRequest request,
                                      const AnswerFormat& format, op::EventSink& sink);

// A turn of an agent with threads, tools and memory. (docs/contracts.md, "/v1")
Task<Result<json::Value>> agent_chat(const Services& services, op::CallContext context, ChatRequest request,
                                     const AnswerFormat& format, op::EventSink& sink);

// The model itself: nothing is added, nothing is kept.
Task<Result<json::Value>> direct_chat(const Services& services, op::CallContext context, ChatRequest request,
                                      const AnswerFormat& format, op::EventSink& sink);

}  // namespace chela::api
