#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/paths.h"
#include "config/config.h"

namespace chela::app {

// The text of $CHELA_HOME/config.toml, "" when there is none.
Result<std::string> read_configuration_file(const Paths& paths);

// What becomes of a value `secret:NAME` whose secret cannot be had: kLeaveOut is for commands that put it there or say what is wrong.
enum class MissingSecrets { kFail, kLeaveOut };

// Flags, environment, file and vault: all layers that are there before the store is.
Result<config::Sources> read_sources(const Paths& paths,
                                     std::vector<std::pair<std::string, std::string>> flags,
                                     const std::map<std::string, std::string>& environment,
                                     MissingSecrets missing = MissingSecrets::kFail);

// From now on no secret of the configuration shows in the log or in /proc/<pid>/environ. While there is one thread.
// `variables` hold secrets too.
void hide_secrets(const config::Config& config, const std::vector<std::string>& variables,
                  const std::map<std::string, std::string>& environment);

}  // namespace chela::app
