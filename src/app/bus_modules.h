#pragma once

#include <vector>

#include "bus/engine/engine_config.h"
#include "bus/module.h"
#include "config/settings.h"

namespace chela::app {

// The modules that this program has, in the order in which they start without a configuration.
std::vector<bus::ModuleKind> bus_modules();
// Those of `chela run`, with their configurations: all but what runs commands.
std::vector<bus::ModuleConfig> modules_of_run(const config::BusSettings& settings);

}  // namespace chela::app
