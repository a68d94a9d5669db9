#pragma once

#include "base/result.h"
#include "bus/bus.h"
#include "op/registry.h"

namespace chela::bus {

// Every operation becomes a function under its id: called with the caller's principal and scope, its permission and schema checked. One
// that answers with a stream is refused with `unsupported` when it begins to; asked for its value, it gives it.
// kConflict when an id is taken.
Result<> add_operation_functions(Bus& bus, const op::Registry& operations);

}  // namespace chela::bus
