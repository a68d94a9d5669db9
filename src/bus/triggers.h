#pragma once

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bus/provider.h"
#include "bus/worker.h"

namespace chela::bus {

// A kind of trigger. Workers provide it, or the engine (worker null). The formats are JSON values as they came, or "".
struct TriggerType {
  std::string id;
  std::string description;
  std::string trigger_format = {};  // of the configuration
  std::string call_format = {};     // of what the function is called with
  WorkerPtr worker = {};
  TriggerProvider* provider = nullptr;  // of a type of the engine's; null for those of the bus itself

  size_t bytes() const { return id.size() + description.size() + trigger_format.size() + call_format.size(); }
};

// A wish that a function be called when something happens. Waits without a provider while nobody provides its type or its provider
// refused it; `provider` is otherwise null for the engine's own types.
struct Trigger {
  enum class State { kWaiting, kRefused, kBound };

  std::string id;
  std::string type;
  std::string function_id;
  std::string config;    // JSON value as it came
  std::string metadata;  // the same, or ""
  WorkerPtr owner;
  std::optional<Rights> rights = {};  // when it fires in another name than its owner's
  State state = State::kWaiting;
  WorkerPtr provider = {};
  BoundTriggerPtr bound = {};         // of the engine's own types, while it is bound
  TriggerProvider* keeper = nullptr;  // who has `bound`; null for the bus itself
  std::stop_source ended = {};        // for `bound`

  size_t bytes() const {
    return id.size() + type.size() + function_id.size() + config.size() + metadata.size();
  }
};

// A trigger that no connection owns.
struct StandingTrigger {
  std::string id;
  std::string type;
  std::string function_id;
  std::string config;    // JSON value, or ""
  std::string metadata;  // the same
  Rights rights;         // in whose name it fires
};

// The id under which a provider knows a trigger: its own, and for the trigger of another user "<realm>/<user>/<id>", percent-encoded
// but for the id, as ids are unique for a user only.
std::string offered_id(const Trigger& trigger, const Worker& provider);

// Which types and triggers there are. Holds facts only; Bus talks to the workers. Loop thread only.
class Triggers {
 public:
  // A type of the engine's own. kConflict when the id is taken.
  Result<> add_type(TriggerType type);
  // kConflict for the engine's types, kTooLarge past a limit of the worker.
  Result<> add_type(const WorkerPtr& worker, TriggerType type);
  bool remove_type(Worker& worker, std::string_view id);
  // The oldest live provider that triggers of the viewer may go to; nullptr when there is none.
  const TriggerType* provider(std::string_view id, const Viewer& viewer) const;
  // The oldest live provider that the viewer may see; nullptr when there is none.
  const TriggerType* find_type(std::string_view id, const Viewer& viewer) const;
  std::vector<const TriggerType*> list_types(const Viewer& viewer) const;

  // kConflict when another worker of the owner's user has the id, kTooLarge past a limit.
  Result<Trigger*> add(Trigger trigger);
  Trigger* find(std::string_view tenant, std::string_view id);
  // The trigger that a provider was offered under that id.
  Trigger* find_offered(const Worker& provider, std::string_view id);
  // Forgets it; its owner's books are kept.
  void remove(std::string_view tenant, std::string_view id);
  // Those a predicate chooses, by id.
  template <class Choose>
  std::vector<Trigger*> select(const Choose& choose) {
    std::vector<Trigger*> chosen;
    for (auto& [key, trigger] : triggers_) {
      if (choose(trigger)) chosen.push_back(&trigger);
    }
    return chosen;
  }
  std::vector<const Trigger*> list(const Viewer& viewer) const;
  size_t size() const { return triggers_.size(); }
  size_t types() const { return types_.size(); }

 private:
  std::map<std::string, std::vector<TriggerType>, std::less<>> types_;
  std::map<std::pair<std::string, std::string>, Trigger> triggers_;  // by tenant and id
};

}  // namespace chela::bus
