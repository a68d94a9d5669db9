#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "llm/provider.h"

namespace chela::api {

// The body of POST /v1/chat/completions, checked. Its model is not yet looked at.
struct ChatRequest {
  llm::Request request;  // the role developer has become system; unknown fields are in extra
  bool stream = false;
  bool include_usage = false;  // stream_options.include_usage
  std::string thread_id = {};  // metadata.thread_id
};

// The body's "model", checked for what no model's name has.
Result<> read_model(const json::Value& body, llm::Request& out);

// kInvalidArgument with detail "param" naming the field.
Result<ChatRequest> parse_chat_request(const json::Value& body);

}  // namespace chela::api
