#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace chela::llm::wire {

// Message::provider_data is {"<protocol>": value}: each protocol finds its own and passes over that of others.
std::string pack_provider_data(std::string_view protocol, json::Value value);
std::optional<json::Value> provider_data_of(std::string_view protocol, std::string_view data);

}  // namespace chela::llm::wire
