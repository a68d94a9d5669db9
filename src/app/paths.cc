#include "app/paths.h"

#include <filesystem>

#include "llm/local/infer_process.h"
#include "os/file.h"

namespace chela::app {
namespace {

namespace fs = std::filesystem;

std::string value_of(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

}  // namespace

Result<Paths> paths_for(const std::string& flag, const std::map<std::string, std::string>& environment) {
  fs::path home = !flag.empty() ? flag : value_of(environment, "CHELA_HOME");
  if (home.empty()) {
    const std::string user_home = value_of(environment, "HOME");
    if (user_home.empty())
      return fail(Code::kInvalidArgument, "neither --home, CHELA_HOME nor HOME says where the state is kept");
    home = fs::path(user_home) / ".chela";
  }
  std::error_code error;
  home = fs::absolute(home, error).lexically_normal();
  if (error)
    return fail(Code::kInvalidArgument, "the home '{}' is no usable path: {}", home.string(),
                error.message());
  if (!home.has_filename()) home = home.parent_path();
  const fs::path run = home / "run";
  return Paths{.home = home,
               .config = home / "config.toml",
               .database = home / "chela.db",
               .models = home / "models",
               .agents = home / "agents",
               .workspaces = home / "workspace",
               .logs = home / "logs",
               .bus = home / "bus",
               .history = home / "history",
               .traces = home / "traces",
               .run = run,
               .lock = run / "engine.lock",
               .socket = run / "chela.sock",
               .engine_file = run / "engine.json",
               .infer_socket = run / "infer.sock"};
}

Result<> make_folders(const Paths& paths) {
  for (const std::string* each : {&paths.home, &paths.run, &paths.logs, &paths.workspaces}) {
    if (Result<> made = os::make_private_dir(*each); !made) return made;
  }
  return {};
}

Result<std::string> share_folder(const std::map<std::string, std::string>& environment) {
  const fs::path program = llm::local::beside_this_program("chela");
  const fs::path folder = program.parent_path();
  std::error_code ignored;
  for (const fs::path& each : {fs::path(value_of(environment, "CHELA_SHARE")), folder / "../share/chela",
                               folder / "../../../share"}) {
    if (!each.empty() && fs::exists(each / "models.toml", ignored)) return each.lexically_normal().string();
  }
  return fail(Code::kNotFound,
              "the program's data (models.toml) is not found near {}; set CHELA_SHARE to its folder",
              folder.string());
}

}  // namespace chela::app
