#pragma once

#include "bus/bus.h"
#include "bus/items/keep_config.h"
#include "bus/module.h"
#include "bus/wire_scan.h"

namespace chela::bus::kv {

// The key/value store of early SDKs: kv_server::get, set, delete, update, list, list_keys_with_prefix. Values by index and key, each user's
// own; a change is answered when it is as durable as it will be.
class Kv final : public Module {
 public:
  Kv(Bus& bus, items::KeepConfig keep, store::OpenRecords open)
      : bus_(bus), keep_(std::move(keep)), open_(std::move(open)) {}

  Task<Result<>> start() override;
  Task<> stop() override;
  json::Value status() const override;

 private:
  using Answer = Task<Result<std::string>> (Kv::*)(TextCall);
  Task<Result<std::string>> get(TextCall call);
  Task<Result<std::string>> set(TextCall call);
  Task<Result<std::string>> erase(TextCall call);
  Task<Result<std::string>> update(TextCall call);
  Task<Result<std::string>> list(TextCall call);
  Task<Result<std::string>> list_keys(TextCall call);

  Bus& bus_;
  const items::KeepConfig keep_;
  const store::OpenRecords open_;
  Scanner scanner_;
  items::Items items_;
};

// "modules::kv_server::KvServer"
ModuleKind kind();

}  // namespace chela::bus::kv
