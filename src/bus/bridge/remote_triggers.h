#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "bus/bridge/remote.h"
#include "bus/bus.h"
#include "bus/provider.h"

namespace chela::bus::bridge {

// Trigger types of another engine, for the workers of this one: each trigger is one there, whose function is ours and fires it here.
// Conditions are looked at here. Triggers that want the same share one, so that a queue's message is handled once. Loop thread only.
class RemoteTriggers final : public TriggerProvider {
 public:
  enum class Delivery {
    kTold,    // fired at all who want it; nothing is waited for
    kHandled  // run by one of them, and its outcome is the answer: what fails comes again
  };
  RemoteTriggers(Bus& bus, Remote& remote, runtime::IdSource& ids, Delivery delivery)
      : bus_(bus), remote_(remote), ids_(ids), delivery_(delivery) {}

  Result<> bind(BoundTriggerPtr trigger) override;
  void release(const BoundTrigger& trigger) override;

  size_t size() const { return shared_.size(); }

 private:
  struct Shared {
    std::string trigger_id;  // there
    std::vector<BoundTriggerPtr> here;
  };
  Task<Result<std::string>> handle(std::string function_id, ServedCall call);
  void keep(const std::string& function_id);

  Bus& bus_;
  Remote& remote_;
  runtime::IdSource& ids_;
  const Delivery delivery_;
  std::map<std::string, Shared, std::less<>> shared_;  // by the id of our function there
  std::deque<std::string> kept_;                       // those of workers that have gone
};

}  // namespace chela::bus::bridge
