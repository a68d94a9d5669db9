#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bus/engine/engine_config.h"
#include "bus/module.h"

namespace chela::bus {

// The modules of one engine, in the order of their configuration. Loop thread only; outlives Bus::stop().
class ModuleSet {
 public:
  using Make =
      std::function<Result<std::unique_ptr<Module>>(const ModuleKind& kind, const json::Value& config)>;
  // kInvalidArgument for a module that no kind has a name of, for one that is there twice, and what a kind says of its configuration.
  // Kinds that are always there come first, when the configuration does not name them.
  static Result<ModuleSet> make(const Make& make, const std::vector<ModuleKind>& kinds,
                                const std::vector<ModuleConfig>& wanted);
  // The modules of an engine whose configuration names none.
  static std::vector<ModuleConfig> defaults(const std::vector<ModuleKind>& kinds);

  // In order; the first that fails ends it. stop() is due after either.
  Task<Result<>> start();
  // Of all: the bus listens.
  void opened();
  // In the opposite order.
  Task<> stop();
  // {name: status}, by the newest name.
  json::Value status() const;

 private:
  struct Loaded {
    std::string name;
    std::unique_ptr<Module> module;
    enum class State { kMade, kStarted } state = State::kMade;
  };
  std::vector<Loaded> loaded_;
};

}  // namespace chela::bus
