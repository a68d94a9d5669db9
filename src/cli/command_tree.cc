#include "cli/command_tree.h"

#include <CLI/CLI.hpp>

#include "base/strings.h"

namespace chela::cli {
namespace {

// CLI11 says the choices in the type's name: "SHELL:{bash,fish,zsh}".
std::vector<std::string> choices_of(const std::string& type) {
  const size_t open = type.find('{');
  const size_t close = type.find('}', open == std::string::npos ? 0 : open);
  std::vector<std::string> choices;
  if (open == std::string::npos || close == std::string::npos) return choices;
  for (const std::string_view each :
       strings::split(std::string_view(type).substr(open + 1, close - open - 1), ','))
    choices.emplace_back(strings::trim(each));
  return choices;
}

OptionSpec describe(const CLI::Option& option) {
  OptionSpec spec{.help = option.get_description()};
  const std::string type = option.get_items_expected_max() > 0 ? option.get_type_name() : "";
  spec.choices = choices_of(type);
  spec.value = type.substr(0, type.find(':'));
  if (option.get_positional()) {
    spec.names = {option.get_single_name()};
    if (spec.value.empty() || spec.value == "TEXT" || spec.value == "INT")
      spec.value = option.get_single_name();
    return spec;
  }
  for (const std::string& each : option.get_snames()) spec.names.push_back("-" + each);
  for (const std::string& each : option.get_lnames()) spec.names.push_back("--" + each);
  return spec;
}

}  // namespace

CommandSpec describe(const CLI::App& app) {
  CommandSpec spec{.name = app.get_name(), .help = app.get_description()};
  for (const CLI::Option* each : app.get_options()) {
    if (each->get_group().empty()) continue;  // hidden
    (each->get_positional() ? spec.positionals : spec.options).push_back(describe(*each));
  }
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_group().empty()) spec.commands.push_back(describe(*each));
  }
  return spec;
}

}  // namespace chela::cli
