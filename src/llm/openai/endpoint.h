#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::llm::openai {

// Where the operations of one OpenAI-compatible server are. People give the base URL in many forms: with or without /v1, with a slash
// at the end, or the whole URL of the chat completions. A path that names no version gets /v1, one that does ("/openai/v1",
// "/v1beta/openai") stays as it is, and a whole URL is taken at its word.
struct Endpoint {
  std::string chat_url;
  std::string models_url;
  std::string name;        // "api.openai.com:443", for messages
  bool is_openai = false;  // OpenAI's own server, which calls some parameters differently

  static Result<Endpoint> from_base_url(std::string_view base_url);
};

}  // namespace chela::llm::openai
