#pragma once

#include "base/json.h"
#include "bus/functions.h"
#include "bus/worker.h"

namespace chela::bus {

class Bus;

// The functions with which workers introduce themselves and look around: engine::workers::*, engine::functions::*, engine::triggers::*,
// engine::trigger-types::list, engine::registered-triggers::*. Where SDK versions expect different answers of one name, the
// version that the calling worker gave decides.
void add_engine_functions(Bus& bus);

enum class Internal { kHide, kShow };  // engine::* among them

// The rows of functions that a worker may see and call, with their schemas.
json::Value function_rows(const Bus& bus, const Worker& worker, Internal internal);

}  // namespace chela::bus
