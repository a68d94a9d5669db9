#pragma once

#include <string>
#include <vector>

#include "bus/bridge/connection.h"
#include "bus/bridge/forwarding.h"
#include "bus/bus.h"
#include "bus/module.h"

namespace chela::bus::bridge {

// Joins this engine to another one: functions of ours that it may call, functions of its that are called as if they were ours, and
// bridge.invoke and bridge.invoke_async for any other. Loop thread only.
class BridgeModule final : public Module {
 public:
  struct Exposed {
    std::string local;
    std::string remote;
  };
  struct Options {
    std::vector<Exposed> expose;
    std::vector<Forwarded> forward;
  };
  BridgeModule(Bus& bus, std::unique_ptr<Remote> remote, Options options);

  Task<Result<>> start() override;
  void opened() override { remote_->start(); }
  Task<> stop() override { return remote_->stop(); }
  json::Value status() const override;

 private:
  Bus& bus_;
  const std::unique_ptr<Remote> remote_;
  const Options options_;
};

struct BridgeConfig {
  Peer peer;
  std::string service_id = {};
  std::string service_name = {};
  BridgeModule::Options passed_on = {};
};
// {url, token?, ca_file?, service_id?, service_name?, expose?: [{local_function, remote_function?}], forward?: [{local_function, remote_function,
// timeout_ms?}]}. kInvalidArgument, kTooLarge past kMaxPassedOn.
Result<BridgeConfig> read_bridge_config(const json::Value& config);

// "modules::bridge_client::BridgeClientModule", "iii-bridge"
ModuleKind kind();

}  // namespace chela::bus::bridge
