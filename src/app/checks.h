#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/paths.h"
#include "base/time.h"
#include "cli/report.h"
#include "config/settings.h"
#include "llm/models.h"

// The single checks of `chela doctor`. They block briefly, change nothing, and never say a secret.
namespace chela::app {

// Programs beside this one, the data that comes with it, the HTTP library, time zones.
std::vector<cli::Check> check_installation(const std::map<std::string, std::string>& environment);
// The folder of the state: there or to be made, private, writable.
cli::Check check_home(const Paths& paths);
cli::Check check_disk(const std::string& path, std::uintmax_t free_bytes);
std::uintmax_t free_bytes_at(const std::string& path);
cli::Check check_database(const Paths& paths);
cli::Check check_vault(const Paths& paths, const std::string& master_key);
// Where a part of the engine is to listen.
struct ListenPlace {
  std::string part;
  std::string key;  // of its port: "bus.http_port"; the host's is "bus.host"
  bool enabled = true;
  std::string host;
  std::uint16_t port = 0;
};
// Whether it could. Asked only when no engine of this home does.
cli::Check check_port(const ListenPlace& place);
// The files of a local model.
cli::Check check_model_files(const Paths& paths, const llm::ModelInfo& model);
// `now` against what this home has on disk.
cli::Check check_clock(const Paths& paths, UnixMs now);
// Open files that this process may have, against the connections it is to serve.
cli::Check check_open_files(std::uint64_t allowed, size_t connections);

}  // namespace chela::app
