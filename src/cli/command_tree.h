#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace chela::cli {

// The command line as data: what completion and documentation read.
struct OptionSpec {
  std::vector<std::string> names;  // "-m", "--message"; one bare name of a positional
  std::string help;
  std::string value;                 // what it takes: "TEXT", "AGENT"; "" = nothing
  std::vector<std::string> choices;  // all values there are, if they are few
};
struct CommandSpec {
  std::string name;
  std::string help;
  std::vector<OptionSpec> options;
  std::vector<OptionSpec> positionals;
  std::vector<CommandSpec> commands;
};

// Of the commands of `chela`.
CommandSpec command_tree();
// Of what a parser was told.
CommandSpec describe(const CLI::App& app);

}  // namespace chela::cli
