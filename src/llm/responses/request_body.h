#pragma once

#include <string>
#include <string_view>

#include "llm/provider.h"

namespace chela::llm::responses {

// The body of POST /responses, asking for a stream that the server does not keep: thoughts come encrypted and are sent back with the calls
// that they led to.
std::string request_body(Request request);

// Whether the model thinks: such a one takes an effort and refuses temperature and top_p.
bool thinks(std::string_view model);

}  // namespace chela::llm::responses
