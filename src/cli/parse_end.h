#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

// How reading a command line ends without a command: with help, or with what is wrong and what to do next.
namespace chela::cli {

ParseEnd usage_error(const std::string& what, const std::string& path = "chela");

// After app.parse() threw.
ParseEnd end_of(const CLI::App& app, const CLI::ParseError& error);

// chela help WORDS
ParseEnd help_of(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace chela::cli
