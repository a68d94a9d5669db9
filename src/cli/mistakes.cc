#include "cli/mistakes.h"

#include <fmt/format.h>

#include "base/likeness.h"
#include "base/strings.h"

namespace chela::cli {
namespace {

std::string meant(std::string_view word, const std::vector<std::string>& names) {
  const std::string closest = likeness::closest(word, names);
  return closest.empty() ? "" : fmt::format("; did you mean {}?", closest);
}

std::vector<std::string> commands_of(const CommandSpec& command) {
  std::vector<std::string> names;
  for (const CommandSpec& each : command.commands) names.push_back(each.name);
  return names;
}

std::string unknown_option(const CommandSpec& command, std::string_view path, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const OptionSpec& each : command.options)
    names.insert(names.end(), each.names.begin(), each.names.end());
  return fmt::format("{} has no option {}{}", path, name, meant(name, names));
}

}  // namespace

std::string unexpected(const CommandSpec& command, std::string_view path,
                       const std::vector<std::string>& words) {
  for (const std::string& each : words) {
    if (each.starts_with('-') && each.size() > 1) return unknown_option(command, path, each);
  }
  const std::string word = words.empty() ? "" : words.front();
  if (command.commands.empty()) return fmt::format("{} does not expect '{}'", path, word);
  return fmt::format("{} has no command '{}'{}", path, word, meant(word, commands_of(command)));
}

std::string command_missing(const CommandSpec& command, std::string_view path) {
  return fmt::format("{} needs one of its commands: {}", path, strings::join(commands_of(command), ", "));
}

}  // namespace chela::cli
