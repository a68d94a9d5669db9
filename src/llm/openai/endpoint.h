#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::llm::openai {

// Where the operations of one OpenAI-compatible server are. The forms of its base URL are those of wire::root_url().
struct Endpoint {
  std::string chat_url;
  std::string models_url;
  bool is_openai = false;  // OpenAI's own server, also where no entry of it is behind the address

  static Result<Endpoint> from_base_url(std::string_view base_url);
};

}  // namespace chela::llm::openai
