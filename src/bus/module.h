#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bus/worker.h"
#include "runtime/task.h"

namespace chela::net {
class HttpClient;
}
namespace chela::obs {
class Metrics;
}
namespace chela::os {
class Poller;
}
namespace chela::runtime {
class AsioLoop;
class IdSource;
class Pool;
}  // namespace chela::runtime
namespace chela::store {
class Records;
}

namespace chela::bus {

class Bus;
struct Admission;
struct Visitor;
using RestoreRights = std::function<Task<Result<Rights>>(op::Principal)>;
namespace channels {
class Channels;
}

// What modules are made of. All of it outlives them.
struct ModuleParts {
  runtime::AsioLoop& loop;
  Bus& bus;
  channels::Channels& channels;  // served on every port of the bus
  obs::Metrics& metrics;
  runtime::IdSource& ids;
  runtime::Pool& pool;
  os::Poller& poller;
  net::HttpClient& http;
  // Who somebody is, where a module has a port of its own; an error refuses him.
  std::function<Task<Result<Admission>>(Visitor)> authenticate;
  std::filesystem::path directory;  // where relative file_paths of configurations start
  // The rights of a principal that was kept, for as long as its token is good. kUnauthenticated when it is not.
  RestoreRights restore_rights;
  // Durable records in a file of their own, whose folders are made (store/records.h). Modules may be given one folder: each names its file
  // after itself.
  std::function<Task<Result<std::unique_ptr<store::Records>>>(std::filesystem::path)> open_records;
};

// A part of the bus that a configuration names: state, streams, queues. Adds its functions and trigger types when it is made or in
// start(). Loop thread only.
//   made -> start() -> opened() -> stop() -> Bus::stop() -> destroyed
// After stop() its providers and functions may still be called: workers leave later. They answer kUnavailable or do nothing.
class Module {
 public:
  virtual ~Module() = default;
  // Loads what is stored, listens. An error ends the start of the engine; stop() is then called too.
  virtual Task<Result<>> start() = 0;
  // The bus's port is open: what connects to it may begin.
  virtual void opened() {}
  // Ends what it runs, makes durable what is not, closes what it opened. Once.
  virtual Task<> stop() = 0;
  // What people may want to know, an object; "port" where it listens.
  virtual json::Value status() const { return json::Value::object(); }
};

// A module as configurations know it.
struct ModuleKind {
  enum class When { kNamed, kDefault, kAlways };  // kDefault: also when there is no configuration
  enum class Count { kOne, kMany };

  // Its names in both dialects, the newest last: "modules::state::StateModule", "iii-state".
  std::vector<std::string> names;
  // Checks the configuration ({} when there is none; see ConfigReader) and makes the module.
  std::function<Result<std::unique_ptr<Module>>(ModuleParts& parts, const json::Value& config)> make;
  When when = When::kDefault;
  Count count = Count::kOne;
};

}  // namespace chela::bus
