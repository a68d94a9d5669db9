#include <malloc.h>

#include <variant>

#include "app/bus_program.h"
#include "app/inspect.h"
#include "app/program.h"
#include "app/trace_program.h"
#include "cli/completion.h"

namespace {

// What is freed at the end of the heap is kept up to so much, and what is larger than the other comes from the kernel by itself. By
// default a connection's buffer of a hundred kilobytes, there for a turn of the loop, moves the heap's end to and fro, and its pages are
// made anew each time.
constexpr int kKeptHeapBytes = 2 * 1024 * 1024;
constexpr int kMappedBytes = 1024 * 1024;

void settle_heap() {
  ::mallopt(M_TRIM_THRESHOLD, kKeptHeapBytes);
  ::mallopt(M_MMAP_THRESHOLD, kMappedBytes);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace chela;
  settle_heap();
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
  if (const auto* completion = std::get_if<cli::CompletionCommand>(&line.command)) {
    output.out(cli::completion_script(completion->shell));
    return 0;
  }
  if (auto* engine = std::get_if<cli::EngineCommand>(&line.command)) {
    app::BusProgram program(std::move(*engine), output);
    return program.run();
  }
  if (std::holds_alternative<cli::InspectCommand>(line.command)) return app::inspect_tool_calls(0, output);
  if (auto* replay = std::get_if<cli::ReplayTraceCommand>(&line.command)) {
    app::TraceProgram program(std::move(*replay), output);
    return program.run();
  }
  app::Program program(std::move(line), output);
  return program.run();
}
