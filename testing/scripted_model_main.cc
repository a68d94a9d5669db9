// The program scripted-model: see README.md beside this file.

#include <cstdio>
#include <fstream>
#include <iterator>

#include "base/strings.h"
#include "testing/scripted_model.h"

namespace {

struct Arguments {
  std::optional<std::uint16_t> port;
  std::string socket;
  std::string script;
};

chela::Result<Arguments> read_arguments(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--port" && chela::strings::parse_int<std::uint16_t>(value)) {
      out.port = chela::strings::parse_int<std::uint16_t>(value);
    } else if (name == "--socket" && !value.empty()) {
      out.socket = value;
    } else if (name == "--script" && !value.empty()) {
      out.script = value;
    } else {
      return chela::fail(chela::Code::kInvalidArgument,
                         "usage: scripted-model [--port N] [--socket PATH] [--script FILE]");
    }
  }
  if (!out.port && out.socket.empty()) out.port = 0;
  return out;
}

chela::Result<> serve(const Arguments& arguments, chela::testing::ScriptedModel& model) {
  if (!arguments.script.empty()) {
    std::ifstream file(arguments.script, std::ios::binary);
    if (!file) return chela::fail(chela::Code::kNotFound, "cannot read {}", arguments.script);
    if (chela::Result<> loaded = model.load({std::istreambuf_iterator<char>(file), {}}); !loaded)
      return loaded;
  }
  if (!arguments.socket.empty()) {
    if (chela::Result<> listening = model.listen_unix(arguments.socket); !listening) return listening;
  }
  std::uint16_t port = 0;
  if (arguments.port) {
    const chela::Result<std::uint16_t> listening = model.listen_tcp(*arguments.port);
    if (!listening) return chela::fail(listening.error());
    port = *listening;
  }
  fmt::print("{{\"port\":{}}}\n", port);
  std::fflush(stdout);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const chela::Result<Arguments> arguments = read_arguments(argc, argv);
  if (!arguments) {
    fmt::print(stderr, "{}\n", arguments.error().message);
    return 2;
  }
  chela::runtime::AsioLoop loop;
  chela::testing::ScriptedModel model(loop);
  if (const chela::Result<> serving = serve(*arguments, model); !serving) {
    fmt::print(stderr, "scripted-model: {}\n", serving.error().message);
    return 1;
  }
  // Until a signal ends it: it holds nothing that would need to be put away.
  loop.run_until([] { return false; });
}
