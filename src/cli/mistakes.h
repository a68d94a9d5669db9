#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"

// What is said of a command line that is wrong. `path` is the command as it was typed: "chela memory".
namespace chela::cli {

// The words that `command` does not take, in their order.
std::string unexpected(const CommandSpec& command, std::string_view path,
                       const std::vector<std::string>& words);

// A command of which one of its own is needed was given none.
std::string command_missing(const CommandSpec& command, std::string_view path);

}  // namespace chela::cli
