#pragma once

#include <map>
#include <string>

#include "llm/models.h"

// What is known of models: share/models/catalog.json.
namespace chela::app {

// Of the folder of the program's data, see share_folder().
Result<llm::Catalog> read_catalog(const std::string& share);
// Of wherever that folder is.
Result<llm::Catalog> find_catalog(const std::map<std::string, std::string>& environment);

}  // namespace chela::app
