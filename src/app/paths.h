#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace chela::app {

// Where everything of one home is.
struct Paths {
  std::string home;    // absolute
  std::string config;  // config.toml
  std::string database;
  std::string models;
  std::string agents;
  std::string workspaces;
  std::string logs;
  std::string bus;      // what modules of the bus keep
  std::string history;  // what was typed
  std::string traces;   // recorded conversations
  std::string run;
  std::string lock;
  std::string socket;
  std::string engine_file;
  std::string infer_socket;
};

// `flag` (--home) over CHELA_HOME over ~/.chela. kInvalidArgument when none of them says where.
Result<Paths> paths_for(const std::string& flag, const std::map<std::string, std::string>& environment);

// Creates the folders, 0700.
Result<> make_folders(const Paths& paths);

// The folder of the data that comes with the program: CHELA_SHARE, else beside the installed program, else in its source tree.
Result<std::string> share_folder(const std::map<std::string, std::string>& environment);

}  // namespace chela::app
