#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bus/bridge/connection.h"
#include "bus/bridge/remote_triggers.h"
#include "bus/module.h"

namespace chela::bus::bridge {

// What a module is when its adapter is another engine that has the same module.
struct Bridged {
  std::string_view module;  // names it in messages and at the other engine
  std::vector<std::string_view> functions;
  std::vector<TriggerType> trigger_types = {};
  RemoteTriggers::Delivery delivery = RemoteTriggers::Delivery::kTold;
};

// Whether the configuration's adapter is one of these, which name the bridge.
bool wants_bridge(const json::Value& config, std::span<const std::string_view> names);

// The address in `adapter: {class | name, config: {bridge_url, token?, ca_file?}}`. Every other key of a bridged module's is the other engine's
// business and is refused, but for those that the reader was asked for.
Result<Peer> read_adapter_peer(ConfigReader& module);

// A module whose functions and triggers are all the other engine's. The configuration has no key but `adapter`.
Result<std::unique_ptr<Module>> make_bridged(ModuleParts& parts, const json::Value& config, Bridged bridged);

}  // namespace chela::bus::bridge
