#pragma once

#include <string>

#include "bus/bus.h"
#include "bus/items/keep_config.h"
#include "bus/module.h"
#include "bus/state/state_triggers.h"
#include "bus/wire_scan.h"

namespace chela::bus::state {

struct StateOptions {
  items::KeepConfig keep = {};
  items::ItemLimits limits = {};
  enum class Triggers { kYes, kNo } triggers = Triggers::kYes;
};

// Values by scope and key, each user's own: state::get, set, delete, update, list, list_groups, and the trigger type `state`. A change is
// answered, and fires its triggers, when it is as durable as it will be.
class State final : public Module {
 public:
  State(Bus& bus, StateOptions options, store::OpenRecords open);

  Task<Result<>> start() override;
  Task<> stop() override;
  json::Value status() const override;

 private:
  using Answer = Task<Result<std::string>> (State::*)(TextCall);
  Result<> add(std::string_view id, std::string_view description, std::string_view request, Answer answer);
  Task<Result<std::string>> get(TextCall call);
  Task<Result<std::string>> set(TextCall call);
  Task<Result<std::string>> erase(TextCall call);
  Task<Result<std::string>> update(TextCall call);
  Task<Result<std::string>> list(TextCall call);
  Task<Result<std::string>> list_groups(TextCall call);
  // Until it is durable; then the triggers are told.
  Task<Result<>> settle(items::Change& change, StateTriggers::Event event, const TextCall& call) const;

  Bus& bus_;
  const StateOptions options_;
  const store::OpenRecords open_;
  Scanner scanner_;
  items::Items items_;
  StateTriggers triggers_;
};

// "modules::state::StateModule", "iii-state"
ModuleKind kind();

}  // namespace chela::bus::state
