#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bus/bus.h"
#include "bus/channels/channel_server.h"
#include "bus/engine/module_set.h"
#include "bus/module.h"
#include "bus/server.h"
#include "runtime/pool.h"

namespace chela::app {

// The bus with its channels, modules and ports: all of `chela engine`, a part of `chela run`. Loop thread only; its owner awaits stop()
// after start(), whatever that gave.
class BusHost {
 public:
  struct Parts {
    runtime::AsioLoop& loop;
    os::Poller& poller;
    runtime::Pool& pool;
    runtime::IdSource& ids;
    obs::Metrics& metrics;
    net::HttpClient& http;
    bus::RestoreRights restore_rights;
  };
  struct Options {
    std::chrono::milliseconds call_timeout;
    // Who a token belongs to, where a module has a port of its own.
    std::function<Task<Result<bus::Admission>>(bus::Visitor)> authenticate;
    std::filesystem::path directory;  // where relative paths of modules start
    std::string advice;               // what to do when a port is taken
  };

  BusHost(Parts parts, Options options);
  BusHost(const BusHost&) = delete;
  BusHost& operator=(const BusHost&) = delete;

  bus::Bus& bus() { return bus_; }
  // Before start(): the modules; kinds as ModuleSet wants them.
  Result<> load(const std::vector<bus::ModuleKind>& kinds, const std::vector<bus::ModuleConfig>& wanted);
  // Before start(): one more port. Named in ports(): "bus" for the first.
  void add_listener(bus::ServerOptions options);

  // Modules first, so that whoever finds a port open finds them there.
  Task<Result<>> start();
  Task<> stop();

  std::map<std::string, int> ports() const;
  // Sets the gauges of what is in the tables of the bus and of its modules.
  void measure();

 private:
  bus::ModuleParts parts_;
  const std::string advice_;
  runtime::AsioLoop& loop_;
  obs::Metrics& metrics_;
  bus::Bus bus_;
  bus::channels::Channels channels_;
  bus::channels::ChannelServer channel_server_;
  bus::ModuleSet modules_;
  std::vector<std::unique_ptr<bus::Server>> servers_;
};

}  // namespace chela::app
