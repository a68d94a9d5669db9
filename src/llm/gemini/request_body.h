#pragma once

#include <string>

#include "llm/provider.h"

namespace chela::llm::gemini {

// The body of :streamGenerateContent; the model is named in the address.
std::string request_body(Request request);

}  // namespace chela::llm::gemini
