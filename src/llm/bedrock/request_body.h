#pragma once

#include <string>

#include "llm/provider.h"

namespace chela::llm::bedrock {

// The body of ConverseStream; the model is named in the address.
std::string request_body(Request request);

}  // namespace chela::llm::bedrock
