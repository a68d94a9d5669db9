#pragma once

#include <initializer_list>
#include <string>

#include "api/services.h"
#include "base/result.h"
#include "op/registry.h"

// Chela's own operations, one file a namespace. Each is defined once; HTTP routes, the OpenAPI document and the command line are made from
// the registry.
namespace chela::api {

// All of them. kConflict when the registry holds one of the ids or routes.
Result<> add_operations(op::Registry& registry, const Services& services);

Result<> add_anthropic(op::Registry& registry, const Services& services);
Result<> add_bus(op::Registry& registry, const Services& services);
Result<> add_routing(op::Registry& registry, const Services& services);
Result<> add_catalog(op::Registry& registry, const Services& services);
Result<> add_chat(op::Registry& registry, const Services& services);
Result<> add_threads(op::Registry& registry, const Services& services);
Result<> add_embeddings(op::Registry& registry, const Services& services);
Result<> add_logs(op::Registry& registry, const Services& services);
Result<> add_memory(op::Registry& registry, const Services& services);
Result<> add_models(op::Registry& registry, const Services& services);
Result<> add_settings(op::Registry& registry, const Services& services);
Result<> add_system(op::Registry& registry, const Services& services);
Result<> add_usage(op::Registry& registry, const Services& services);
Result<> add_tokens(op::Registry& registry, const Services& services);
Result<> add_tools(op::Registry& registry, const Services& services);
Result<> add_vault(op::Registry& registry, const Services& services);
Result<> add_openai(op::Registry& registry, const Services& services);
Result<> add_responses(op::Registry& registry, const Services& services);

// Stops at the first that the registry refuses.
Result<> add_all(op::Registry& registry, std::initializer_list<op::Operation> operations);

// A route of the gateway.
op::Route route(std::string method, std::string path, int status = 200);

}  // namespace chela::api
