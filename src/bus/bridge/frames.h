#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "bus/wire.h"

// What a worker says to an engine, beside what bus/wire.h writes for both ends.
namespace chela::bus::bridge::frames {

std::string register_function(std::string_view id, std::string_view description);
std::string unregister_function(std::string_view id);
std::string register_service(std::string_view id, std::string_view name);
std::string reattach(std::string_view worker_id, std::string_view token);
// A call that nobody answers. `data` is JSON.
std::string tell(std::string_view function_id, std::string_view data, Trace trace = {});

}  // namespace chela::bus::bridge::frames
