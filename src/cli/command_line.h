#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"

// What the arguments of `chela` mean. Only parse.cc and command_tree.cc know the library that reads them.
namespace chela::cli {

struct RunCommand {
  std::optional<std::string> message;  // -m: answer this and leave
  std::string thread;                  // an id, or "latest"
  std::string agent;
  bool headless = false;    // no chat
  bool json = false;        // events as JSON lines
  bool no_onboard = false;  // never offer the wizard, never fetch a model
  bool cli_only = false;    // no gateway
  bool no_db = false;       // nothing outlives the process
  bool no_color = false;    // plain text on the terminal
};

// A call of one operation.
struct OperationCommand {
  std::string operation;
  json::Value args = json::Value::object();
  bool json = false;        // the value as it is instead of a text for people
  std::string member = {};  // only this member of the value
};

// The configuration file itself.
struct ConfigFileCommand {
  enum class Action { kPath, kInit } action = Action::kPath;
  std::string output = {};  // kInit: written here instead of into the home
  enum class Replace { kNo, kYes } replace = Replace::kNo;
};

// Puts a secret into the vault; its value comes from the terminal or standard input, never from an argument.
struct SecretCommand {
  std::string name;
  bool json = false;
};

struct PullCommand {
  std::string model;
};

// Looks for what is wrong or missing.
struct DoctorCommand {
  bool json = false;
};

// The engine that runs, or that none does.
struct StatusCommand {
  bool json = false;
};

// The wizard of the first start.
struct OnboardCommand {
  bool skip_auth = false;  // ask for no key
};

// The engine as a service of systemd.
struct ServiceCommand {
  enum class What { kInstall, kStart, kStop, kStatus, kUninstall, kPrint } what = What::kStatus;
  bool system = false;  // of the machine instead of the user
};

// The bus alone, as iii's configuration file says.
struct EngineCommand {
  std::string config = {};    // "" = config.yaml
  bool use_default = false;   // no file: the default modules
  std::string announce = {};  // pid and ports are written here once it is ready
};

// A call of any function of a bus.
struct BusCommand {
  std::string function;
  json::Value data = json::Value::object();
  std::string url = {};    // "" = III_URL, else the engine of the home, else the usual port
  std::string token = {};  // "" = that of the home, for its engine
  bool json = false;       // the value as it is instead of a text for people
};

// What the engine makes of texts of models: JSON lines from standard input.
struct InspectCommand {};

// Which model messages would be given to, and why: one from the arguments, else JSON lines from standard input.
struct RouteCommand {
  std::string text = {};
  bool json = false;
};

// Plays traces on an engine of its own and says which expectations did not hold.
struct ReplayTraceCommand {
  std::vector<std::string> files;
  bool strict = false;   // what is only noted counts as well
  bool rewrite = false;  // expectations that do not hold are replaced by what is true now
  bool json = false;
};

struct VersionCommand {};

struct CompletionCommand {
  std::string shell;
};

// What a shell asks while somebody types: the words so far.
struct CompleteCommand {
  std::vector<std::string> words;
};

struct CommandLine {
  std::string home;                                           // "" = CHELA_HOME, else ~/.chela
  std::vector<std::pair<std::string, std::string>> settings;  // --set KEY=VALUE and its short forms
  std::variant<RunCommand, OperationCommand, ConfigFileCommand, SecretCommand, PullCommand, DoctorCommand,
               StatusCommand, OnboardCommand, ServiceCommand, EngineCommand, BusCommand, InspectCommand,
               RouteCommand, ReplayTraceCommand, VersionCommand, CompletionCommand, CompleteCommand>
      command;
};

// The arguments ask for a text (help) or are wrong: what to print where, and the exit code.
struct ParseEnd {
  int exit_code = 0;
  std::string out;
  std::string err;
};

std::variant<CommandLine, ParseEnd> parse_command_line(int argc, const char* const* argv);

}  // namespace chela::cli
