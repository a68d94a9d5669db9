#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace chela::app {

// $CHELA_HOME/run/engine.json: how others find the engine that runs.
struct EngineFile {
  int pid = 0;
  std::string version;
  UnixMs started_at = 0;
  std::string socket;
  std::map<std::string, int> ports;

  // "pid 42, gateway http://127.0.0.1:3000", for messages.
  std::string text() const;
};

// Readers see all of it or nothing. It need not survive a power cut, so nothing is synced to the disk.
Result<> write_engine_file(const std::string& path, const EngineFile& file);
// kNotFound when there is none, kInvalidArgument when it is not readable.
Result<EngineFile> read_engine_file(const std::string& path);

// "http://127.0.0.1:3000": where a program of this machine reaches what listens there; all addresses are reached by the loopback one.
std::string address_of(const std::string& host, int port);

}  // namespace chela::app
