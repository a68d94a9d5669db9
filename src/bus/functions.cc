#include "bus/functions.h"

#include <algorithm>

#include "bus/limits.h"

namespace chela::bus {

Task<Result<json::Value>> run(std::shared_ptr<const LocalFunction> function, LocalCall call) {
  if (function->handler) co_return co_await function->handler(std::move(call));
  const std::string data = json::write(call.data);
  const Result<std::string> value = co_await function->text({.context = std::move(call.context),
                                                             .caller = std::move(call.caller),
                                                             .data = data,
                                                             .traceparent = std::move(call.traceparent),
                                                             .baggage = std::move(call.baggage)});
  if (!value) co_return fail(value.error());
  if (value->empty()) co_return json::Value();
  co_return json::parse(*value);
}

bool is_tool(const FunctionSpec& spec) {
  if (spec.id.starts_with(kToolPrefix)) return true;
  if (spec.metadata.find("\"tool\"") == std::string::npos) return false;
  const Result<json::Value> metadata = json::parse(spec.metadata);
  const json::Value* tool = metadata ? metadata->find("tool") : nullptr;
  return tool != nullptr && *tool == json::Value(true);
}

// `entry` is null once nobody provides the function.
void Functions::tools_changed(std::string_view id, const Entry* entry) {
  ++tools_revision_;
  if (entry != nullptr && std::ranges::any_of(entry->providers, &Provider::tool)) {
    tools_.emplace(id);
  } else if (const auto at = tools_.find(id); at != tools_.end()) {
    tools_.erase(at);
  }
}

Result<> Functions::add(LocalFunction function) {
  const std::string id = function.spec.id;
  Entry& entry = entries_[id];
  if (entry.local || !entry.providers.empty())
    return fail(Code::kConflict, "there is a function {} already", id);
  entry.local = std::make_shared<const LocalFunction>(std::move(function));
  return {};
}

Result<> Functions::add(const WorkerPtr& worker, FunctionSpec spec) {
  const std::string id = spec.id;
  const auto found = entries_.find(id);
  if (found != entries_.end() && found->second.local) {
    if (found->second.local->replaceable == Replaceable::kNo)
      return fail(Code::kConflict, "{} is a function of the engine", id);
    if (const std::string needed = fmt::format("{}{}", kReplacePermission, id);
        !worker->rights.principal.allows(needed))
      return fail(Code::kPermissionDenied,
                  "{} is a function of the engine; replacing it needs the permission {}", id, needed);
  }
  if (id.starts_with("engine::")) return fail(Code::kConflict, "{}: ids with engine:: are the engine's", id);
  const auto is_own = [&worker](const Provider& provider) { return provider.worker == worker; };
  Provider* own = nullptr;
  if (found != entries_.end()) {
    std::vector<Provider>& providers = found->second.providers;
    if (const auto it = std::ranges::find_if(providers, is_own); it != providers.end()) own = &*it;
    if (own == nullptr && providers.size() >= kMaxProviders)
      return fail(Code::kTooLarge, "{} workers provide {}, which is the limit", kMaxProviders, id);
  }
  if (own == nullptr && worker->functions.size() >= kMaxFunctionsPerWorker)
    return fail(Code::kTooLarge, "a worker has {} functions at most", kMaxFunctionsPerWorker);
  const size_t freed = own == nullptr ? 0 : own->spec.bytes();
  const size_t bytes = worker->registration_bytes - freed + spec.bytes();
  if (bytes > kMaxRegistrationBytes)
    return fail(Code::kTooLarge, "what a worker registers is {} bytes at most", kMaxRegistrationBytes);
  worker->registration_bytes = bytes;
  const bool tool = is_tool(spec);
  const bool tools_differ = tool || (own != nullptr && own->tool);
  Entry& entry = entries_[id];
  if (!spec.own_id.empty()) worker->renamed.insert_or_assign(spec.own_id, id);
  if (own != nullptr) {
    own->spec = std::move(spec);
    own->tool = tool;
  } else {
    entry.providers.push_back({.worker = worker, .spec = std::move(spec), .tool = tool});
    worker->functions.insert(id);
  }
  if (tools_differ) tools_changed(id, &entry);
  return {};
}

bool Functions::remove(Worker& worker, std::string_view id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  std::vector<Provider>& providers = found->second.providers;
  const auto own = std::ranges::find_if(
      providers, [&worker](const Provider& provider) { return provider.worker.get() == &worker; });
  if (own == providers.end()) return false;
  worker.registration_bytes -= own->spec.bytes();
  worker.renamed.erase(own->spec.own_id);
  if (const auto name = worker.functions.find(id); name != worker.functions.end())
    worker.functions.erase(name);
  const bool tool = own->tool;
  const std::string known(found->first);  // `id` may be a part of what goes now
  providers.erase(own);
  if (tool) tools_changed(known, &found->second);
  if (providers.empty() && !found->second.local) entries_.erase(found);
  return true;
}

Functions::Target Functions::pick(std::string_view id, const Viewer& viewer) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  if (found->second.local) return {.reach = Reach::kLocal, .local = found->second.local};
  return least_busy(found->second, viewer, "");
}

Functions::Target Functions::pick_replacement(std::string_view id, const Viewer& viewer,
                                              std::string_view asking) {
  if (!replaced(id, viewer, asking)) return {};
  return least_busy(entries_.find(id)->second, viewer, fmt::format("{}{}", kReplacePermission, id));
}

bool Functions::replaced(std::string_view id, const Viewer& viewer, std::string_view asking) const {
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.providers.empty()) return false;
  const std::string needed = fmt::format("{}{}", kReplacePermission, id);
  bool any = false;
  for (const Provider& each : found->second.providers) {
    if (each.worker->id == asking) return false;
    any = any || (each.worker->serves(viewer) && each.worker->rights.principal.allows(needed));
  }
  return any;
}

// With a permission, only workers whose tokens allow it.
Functions::Target Functions::least_busy(Entry& entry, const Viewer& viewer, std::string_view permission) {
  Target target;
  const size_t count = entry.providers.size();
  for (size_t step = 0; step < count; ++step) {
    const size_t at = (entry.turn + step) % count;
    const WorkerPtr& worker = entry.providers[at].worker;
    if (!worker->serves(viewer)) continue;
    if (!permission.empty() && !worker->rights.principal.allows(permission)) continue;
    if (worker->stalled && worker->link->unsent() <= kSoftUnsentBytes) worker->stalled = false;
    if (worker->cut_off || worker->stalled || worker->calls_served >= kMaxCallsServed) {
      if (target.reach == Reach::kNone) target = {.reach = Reach::kBusy, .worker = worker};
      continue;
    }
    if (target.reach == Reach::kWorker && target.worker->calls_served <= worker->calls_served) continue;
    target = {.reach = Reach::kWorker, .local = entry.providers[at].spec.outside, .worker = worker};
    if (worker->calls_served == 0) break;
  }
  if (target.reach == Reach::kWorker) {
    const auto at = std::ranges::find_if(
        entry.providers, [&target](const Provider& provider) { return provider.worker == target.worker; });
    target.own_id = at->spec.own_id;
    target.alone = count == 1;
    entry.turn = (static_cast<size_t>(at - entry.providers.begin()) + 1) % count;
  }
  if (target.reach == Reach::kWorker && target.local) target.reach = Reach::kLocal;
  return target;
}

bool Functions::reaches(std::string_view id, const Viewer& viewer) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  return found->second.local || std::ranges::any_of(found->second.providers, [&viewer](const Provider& each) {
           return each.worker->serves(viewer);
         });
}

std::vector<Functions::Row> Functions::list(const Viewer& viewer) const {
  std::vector<Row> rows;
  for (const auto& [id, entry] : entries_) {
    if (const Row row = find(id, viewer); row.spec != nullptr) rows.push_back(row);
  }
  return rows;
}

Functions::Row Functions::find(std::string_view id, const Viewer& viewer) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  const LocalFunction* local = found->second.local.get();
  for (const Provider& provider : found->second.providers) {
    if (local != nullptr && !provider.worker->serves(viewer)) continue;
    if (provider.worker->shows_to(viewer))
      return {.spec = local == nullptr ? &provider.spec : &local->spec, .worker = provider.worker.get()};
  }
  return local == nullptr ? Row{} : Row{.spec = &local->spec, .worker = nullptr};
}

Functions::Row Functions::find_tool(std::string_view id, const Viewer& viewer) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  for (const Provider& provider : found->second.providers) {
    if (provider.tool && provider.worker->serves(viewer))
      return {.spec = &provider.spec, .worker = provider.worker.get()};
  }
  return {};
}

}  // namespace chela::bus
