#include <variant>

#include "app/program.h"

int main(int argc, char** argv) {
  using namespace chela;
  const cli::Output output = cli::standard_output();
  std::variant<cli::CommandLine, cli::ParseEnd> parsed = cli::parse_command_line(argc, argv);
  if (const auto* end = std::get_if<cli::ParseEnd>(&parsed)) {
    output.out(end->out);
    output.err(end->err);
    return end->exit_code;
  }
  cli::CommandLine& line = std::get<cli::CommandLine>(parsed);
  if (std::holds_alternative<cli::VersionCommand>(line.command)) {
    output.line("chela " CHELA_VERSION);
    return 0;
  }
  app::Program program(std::move(line), output);
  return program.run();
}
