#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "llm/backends/backends.h"

namespace chela::app {

// What is known of models and providers: models.toml and providers.toml of the share folder, with those of the home laid over them.
// kInvalidArgument names file, entry and key.
Result<llm::ModelData> read_model_data(const std::string& share, const std::string& home);
// The share folder being found by itself.
Result<llm::ModelData> find_model_data(const std::map<std::string, std::string>& environment,
                                       const std::string& home);

// Whether the small models of this machine answer for the name, when no other backend is configured.
bool answers_here(const llm::ModelData& data, std::string_view model);

// The variables that hold keys of providers: no child and no log may see them. Those of the files are left out
// when these cannot be read; whoever needs them says so.
std::vector<std::string> key_variables(const std::map<std::string, std::string>& environment,
                                       const std::string& home);

}  // namespace chela::app
