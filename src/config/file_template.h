#pragma once

#include <string>

namespace chela::config {

// A configuration file with every key that may stand in it, commented out with its default.
std::string file_template();

}  // namespace chela::config
