#include "bus/triggers.h"

#include <algorithm>

#include "bus/limits.h"
#include "net/http.h"

namespace chela::bus {

std::string offered_id(const Trigger& trigger, const Worker& provider) {
  if (provider.view.tenant == trigger.owner->view.tenant) return trigger.id;
  const op::Principal& owner = trigger.owner->rights.principal;
  return fmt::format("{}/{}/{}", net::percent_encode(owner.realm), net::percent_encode(owner.user),
                     trigger.id);
}

Result<> Triggers::add_type(TriggerType type) {
  std::vector<TriggerType>& types = types_[type.id];
  if (!types.empty()) return fail(Code::kConflict, "there is a trigger type {} already", type.id);
  types.push_back(std::move(type));
  return {};
}

Result<> Triggers::add_type(const WorkerPtr& worker, TriggerType type) {
  const auto found = types_.find(type.id);
  TriggerType* own = nullptr;
  if (found != types_.end()) {
    for (TriggerType& each : found->second) {
      if (!each.worker) return fail(Code::kConflict, "{} is a trigger type of the engine", type.id);
      if (each.worker == worker) own = &each;
    }
  }
  if (own == nullptr && worker->trigger_types.size() >= kMaxTriggerTypesPerWorker)
    return fail(Code::kTooLarge, "a worker has {} trigger types at most", kMaxTriggerTypesPerWorker);
  const size_t bytes = worker->registration_bytes - (own == nullptr ? 0 : own->bytes()) + type.bytes();
  if (bytes > kMaxRegistrationBytes)
    return fail(Code::kTooLarge, "what a worker registers is {} bytes at most", kMaxRegistrationBytes);
  worker->registration_bytes = bytes;
  worker->trigger_types.insert(type.id);
  type.worker = worker;
  if (own != nullptr) {
    *own = std::move(type);
  } else {
    std::vector<TriggerType>& types = types_[type.id];
    types.push_back(std::move(type));
  }
  return {};
}

bool Triggers::remove_type(Worker& worker, std::string_view id) {
  const auto found = types_.find(id);
  if (found == types_.end()) return false;
  const auto own = std::ranges::find_if(
      found->second, [&worker](const TriggerType& type) { return type.worker.get() == &worker; });
  if (own == found->second.end()) return false;
  worker.registration_bytes -= own->bytes();
  if (const auto name = worker.trigger_types.find(id); name != worker.trigger_types.end())
    worker.trigger_types.erase(name);
  found->second.erase(own);
  if (found->second.empty()) types_.erase(found);
  return true;
}

const TriggerType* Triggers::provider(std::string_view id, const Viewer& viewer) const {
  const auto found = types_.find(id);
  if (found == types_.end()) return nullptr;
  for (const TriggerType& type : found->second) {
    if (!type.worker || type.worker->serves(viewer)) return &type;
  }
  return nullptr;
}

const TriggerType* Triggers::find_type(std::string_view id, const Viewer& viewer) const {
  const auto found = types_.find(id);
  if (found == types_.end()) return nullptr;
  for (const TriggerType& type : found->second) {
    if (!type.worker || type.worker->shows_to(viewer)) return &type;
  }
  return nullptr;
}

std::vector<const TriggerType*> Triggers::list_types(const Viewer& viewer) const {
  std::vector<const TriggerType*> rows;
  for (const auto& [id, types] : types_) {
    if (const TriggerType* type = find_type(id, viewer)) rows.push_back(type);
  }
  return rows;
}

Result<Trigger*> Triggers::add(Trigger trigger) {
  Worker& owner = *trigger.owner;
  const auto found = triggers_.find({owner.view.tenant, trigger.id});
  if (found != triggers_.end() && found->second.owner != trigger.owner)
    return fail(Code::kConflict, "a newer connection has a trigger with the id {}", trigger.id);
  if (found == triggers_.end() && owner.triggers.size() >= kMaxTriggersPerWorker)
    return fail(Code::kTooLarge, "a worker has {} triggers at most", kMaxTriggersPerWorker);
  const size_t bytes =
      owner.registration_bytes - (found == triggers_.end() ? 0 : found->second.bytes()) + trigger.bytes();
  if (bytes > kMaxRegistrationBytes)
    return fail(Code::kTooLarge, "what a worker registers is {} bytes at most", kMaxRegistrationBytes);
  owner.registration_bytes = bytes;
  owner.triggers.insert(trigger.id);
  std::pair key(owner.view.tenant, trigger.id);
  return &triggers_.insert_or_assign(std::move(key), std::move(trigger)).first->second;
}

Trigger* Triggers::find(std::string_view tenant, std::string_view id) {
  const auto found = triggers_.find({std::string(tenant), std::string(id)});
  return found == triggers_.end() ? nullptr : &found->second;
}

Trigger* Triggers::find_offered(const Worker& provider, std::string_view id) {
  const auto offered = [&](Trigger* trigger) {
    return trigger != nullptr && trigger->provider.get() == &provider;
  };
  if (Trigger* own = find(provider.view.tenant, id); offered(own)) return own;
  const size_t first = id.find('/');
  const size_t second = first == std::string_view::npos ? first : id.find('/', first + 1);
  if (second == std::string_view::npos) return nullptr;
  const std::optional<std::string> realm = net::percent_decode(id.substr(0, first));
  const std::optional<std::string> user = net::percent_decode(id.substr(first + 1, second - first - 1));
  if (!realm || !user) return nullptr;
  Trigger* other = find(tenant_of(*realm, *user), id.substr(second + 1));
  return offered(other) ? other : nullptr;
}

void Triggers::remove(std::string_view tenant, std::string_view id) {
  const auto found = triggers_.find({std::string(tenant), std::string(id)});
  if (found == triggers_.end()) return;
  Worker& owner = *found->second.owner;
  owner.registration_bytes -= found->second.bytes();
  owner.triggers.erase(found->second.id);
  triggers_.erase(found);
}

std::vector<const Trigger*> Triggers::list(const Viewer& viewer) const {
  std::vector<const Trigger*> rows;
  for (const auto& [key, trigger] : triggers_) {
    if (trigger.owner->shows_to(viewer)) rows.push_back(&trigger);
  }
  return rows;
}

}  // namespace chela::bus
