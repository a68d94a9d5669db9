#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/paths.h"
#include "config/config.h"

namespace chela::app {

// Flags, environment and $CHELA_HOME/config.toml together.
Result<config::Config> load_configuration(const Paths& paths,
                                          std::vector<std::pair<std::string, std::string>> flags,
                                          const std::map<std::string, std::string>& environment);

// From now on no secret of the configuration shows in the log or in /proc/<pid>/environ. While there is one thread.
void hide_secrets(const config::Config& config);

}  // namespace chela::app
