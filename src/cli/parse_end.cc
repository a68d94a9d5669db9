#include "cli/parse_end.h"

#include <CLI/CLI.hpp>

#include "cli/command_tree.h"
#include "cli/mistakes.h"

namespace chela::cli {
namespace {

constexpr int kUsageError = 2;

// The command that was typed, as far as it is one.
struct Typed {
  const CLI::App* app;
  std::string path;
};

Typed typed(const CLI::App& root) {
  Typed found{.app = &root, .path = root.get_name()};
  while (!found.app->get_subcommands().empty()) {
    found.app = found.app->get_subcommands().front();
    found.path += " " + found.app->get_name();
  }
  return found;
}

bool is(const CLI::ParseError& error, CLI::ExitCodes code) {
  return error.get_exit_code() == static_cast<int>(code);
}

}  // namespace

ParseEnd usage_error(const std::string& what, const std::string& path) {
  return {.exit_code = kUsageError,
          .out = {},
          .err = fmt::format("chela: {}\nNext step: {} --help\n", what, path)};
}

ParseEnd end_of(const CLI::App& root, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return {.exit_code = 0, .out = root.help(), .err = {}};
  const auto [app, path] = typed(root);
  const std::vector<std::string> words = root.remaining(true);
  const bool last = app->get_subcommands([](const CLI::App*) { return true; }).empty();
  const bool missing = is(error, CLI::ExitCodes::RequiredError) && !last;
  if (is(error, CLI::ExitCodes::ExtrasError) || (missing && !words.empty()))
    return usage_error(unexpected(describe(*app), path, words), path);
  if (missing) return usage_error(command_missing(describe(*app), path), path);
  return usage_error(error.what(), path);
}

ParseEnd help_of(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* app = &root;
  std::string path = root.get_name();
  for (const std::string& each : words) {
    const std::vector<const CLI::App*> found =
        app->get_subcommands([&each](const CLI::App* sub) { return sub->get_name() == each; });
    if (found.empty()) return usage_error(unexpected(describe(*app), path, {each}), path);
    app = found.front();
    path += " " + each;
  }
  // App::help() would tell of the command that was typed.
  return {.exit_code = 0,
          .out = root.get_formatter()->make_help(app, path, CLI::AppFormatMode::Normal),
          .err = {}};
}

}  // namespace chela::cli
