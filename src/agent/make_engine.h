#pragma once

#include <memory>

#include "agent/dependencies.h"
#include "agent/engine.h"

namespace chela::agent {

// Builds the engine. Its owner awaits recover() before it takes input, and stop() before it destroys it.
std::unique_ptr<Engine> make_engine(Dependencies dependencies);

}  // namespace chela::agent
