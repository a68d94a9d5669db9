#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"

// What the arguments of `chela` mean. Only parse.cc knows the library that reads them.
namespace chela::cli {

struct RunCommand {
  std::optional<std::string> message;  // -m: answer this and leave
  std::string thread;
  std::string agent;
  bool headless = false;    // no chat
  bool json = false;        // events as JSON lines
  bool no_onboard = false;  // never fetch a model
  bool cli_only = false;    // no gateway
  bool no_db = false;       // nothing outlives the process
};

// A call of one operation.
struct OperationCommand {
  std::string operation;
  json::Value args = json::Value::object();
  bool json = false;  // the value as it is instead of a text for people
};

struct ConfigCommand {
  std::string key;  // "" = all
};

struct PullCommand {
  std::string model;
};

struct VersionCommand {};

struct CommandLine {
  std::string home;                                           // "" = CHELA_HOME, else ~/.chela
  std::vector<std::pair<std::string, std::string>> settings;  // --set KEY=VALUE and its short forms
  std::variant<RunCommand, OperationCommand, ConfigCommand, PullCommand, VersionCommand> command;
};

// The arguments ask for a text (help) or are wrong: what to print where, and the exit code.
struct ParseEnd {
  int exit_code = 0;
  std::string out;
  std::string err;
};

std::variant<CommandLine, ParseEnd> parse_command_line(int argc, const char* const* argv);

}  // namespace chela::cli
