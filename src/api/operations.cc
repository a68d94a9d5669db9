#include "api/operations.h"

namespace chela::api {

Result<> add_operations(op::Registry& registry, const Services& services) {
  for (const auto add : {add_chat, add_threads, add_memory, add_models, add_catalog, add_routing, add_system,
                         add_usage, add_tokens, add_tools, add_vault, add_openai, add_anthropic,
                         add_responses, add_embeddings, add_settings, add_logs, add_bus}) {
    if (Result<> added = add(registry, services); !added) return added;
  }
  return {};
}

Result<> add_all(op::Registry& registry, std::initializer_list<op::Operation> operations) {
  for (const op::Operation& operation : operations) {
    if (Result<> added = registry.add(operation); !added) return added;
  }
  return {};
}

op::Route route(std::string method, std::string path, int status) {
  return op::Route{.method = std::move(method), .path = std::move(path), .status = status};
}

}  // namespace chela::api
