#include "llm/wire/provider_data.h"

namespace chela::llm::wire {

std::string pack_provider_data(std::string_view protocol, json::Value value) {
  return json::write(json::Value::object({{std::string(protocol), std::move(value)}}));
}

std::optional<json::Value> provider_data_of(std::string_view protocol, std::string_view data) {
  if (data.empty()) return std::nullopt;
  const Result<json::Value> value = json::parse(data);
  const json::Value* own = value ? value->find(protocol) : nullptr;
  return own != nullptr ? std::optional(*own) : std::nullopt;
}

}  // namespace chela::llm::wire
