#include "bus/engine/module_set.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "obs/log.h"

namespace chela::bus {
namespace {

// Modules of iii that this engine has no counterpart of.
constexpr std::string_view kForeign[] = {
    "modules::bridge_client::BridgeClientModule",
    "iii-bridge",
    "modules::http_functions::HttpFunctionsModule",
    "iii-http-functions",
    "modules::api::RestApiModule",
    "iii-http",
    "modules::state::StateModule",
    "iii-state",
    "modules::stream::StreamModule",
    "iii-stream",
    "modules::queue::QueueModule",
    "iii-queue",
    "modules::pubsub::PubSubModule",
    "iii-pubsub",
    "modules::cron::CronModule",
    "iii-cron",
    "modules::kv_server::KvServer",
    "modules::observability::OtelModule",
    "iii-observability",
    "modules::shell::ExecModule",
    "iii-exec",
    "configuration",
};

const ModuleKind* find_kind(const std::vector<ModuleKind>& kinds, std::string_view name) {
  const auto found = std::ranges::find_if(kinds, [name](const ModuleKind& kind) {
    return std::ranges::find(kind.names, name) != kind.names.end();
  });
  return found == kinds.end() ? nullptr : &*found;
}

Error unknown(const std::vector<ModuleKind>& kinds, std::string_view name) {
  std::vector<std::string_view> known;
  for (const ModuleKind& kind : kinds) known.push_back(kind.names.back());
  const std::string list = known.empty() ? "it has none" : fmt::format("it has {}", fmt::join(known, ", "));
  if (std::ranges::find(kForeign, name) != std::end(kForeign))
    return {
        .code = Code::kUnsupported,
        .message = fmt::format(
            "this engine does not have iii's module {} ({}); take it out of the configuration", name, list)};
  return {.code = Code::kInvalidArgument,
          .message = fmt::format("there is no module {} in this engine ({})", name, list)};
}

}  // namespace

std::vector<ModuleConfig> ModuleSet::defaults(const std::vector<ModuleKind>& kinds) {
  std::vector<ModuleConfig> all;
  for (const ModuleKind& kind : kinds) {
    if (kind.when == ModuleKind::When::kDefault) all.push_back({.name = kind.names.back(), .config = {}});
  }
  return all;
}

Result<ModuleSet> ModuleSet::make(const Make& make, const std::vector<ModuleKind>& kinds,
                                  const std::vector<ModuleConfig>& wanted) {
  ModuleSet set;
  std::set<const ModuleKind*> named;
  const auto add = [&](const ModuleKind& kind, const json::Value& config) -> Result<> {
    const json::Value empty = json::Value::object();
    Result<std::unique_ptr<Module>> made = make(kind, config.is_null() ? empty : config);
    if (!made) return fail(made.error());
    set.loaded_.push_back({.name = kind.names.back(), .module = std::move(*made)});
    return {};
  };
  for (const ModuleConfig& each : wanted) {
    const ModuleKind* kind = find_kind(kinds, each.name);
    if (kind == nullptr) return fail(unknown(kinds, each.name));
    if (!named.insert(kind).second && kind->count == ModuleKind::Count::kOne)
      return fail(Code::kInvalidArgument, "the module {} is in the configuration twice", each.name);
  }
  for (const ModuleKind& kind : kinds) {
    if (kind.when != ModuleKind::When::kAlways || named.contains(&kind)) continue;
    if (Result<> added = add(kind, {}); !added) return fail(added.error());
  }
  for (const ModuleConfig& each : wanted) {
    if (Result<> added = add(*find_kind(kinds, each.name), each.config); !added) return fail(added.error());
  }
  return set;
}

Task<Result<>> ModuleSet::start() {
  for (Loaded& each : loaded_) {
    each.state = Loaded::State::kStarted;
    if (Result<> started = co_await each.module->start(); !started) {
      Error error = started.error();
      error.message = fmt::format("the module {} cannot start: {}", each.name, error.message);
      co_return fail(std::move(error));
    }
  }
  co_return Result<>{};
}

void ModuleSet::opened() {
  for (Loaded& each : loaded_) each.module->opened();
}

Task<> ModuleSet::stop() {
  for (Loaded& each : std::views::reverse(loaded_)) {
    if (each.state == Loaded::State::kStarted) co_await each.module->stop();
    each.state = Loaded::State::kMade;
  }
}

json::Value ModuleSet::status() const {
  json::Value all = json::Value::object();
  for (const Loaded& each : loaded_) all.set(each.name, each.module->status());
  return all;
}

}  // namespace chela::bus
