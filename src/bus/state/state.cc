#include "bus/state/state.h"

#include "bus/adapter_config.h"
#include "bus/bridge/bridged_module.h"
#include "bus/items/fields.h"

namespace chela::bus::state {
namespace {

using items::Change;
using items::Fields;
using items::ItemCall;
using items::Text;

constexpr std::string_view kScopeAndKey =
    R"({"type":"object","properties":{"scope":{"type":"string"},"key":{"type":"string"}},"required":["scope","key"]})";
constexpr std::string_view kScopeKeyAndValue =
    R"({"type":"object","properties":{"scope":{"type":"string"},"key":{"type":"string"},"value":{}},)"
    R"("required":["scope","key","value"]})";
constexpr std::string_view kScopeKeyAndOps =
    R"({"type":"object","properties":{"scope":{"type":"string"},"key":{"type":"string"},)"
    R"("ops":{"type":"array","items":{"type":"object"}}},"required":["scope","key","ops"]})";
constexpr std::string_view kScope =
    R"({"type":"object","properties":{"scope":{"type":"string"}},"required":["scope"]})";

Result<ItemCall> item_of(Scanner& scanner, const TextCall& call) {
  return items::read_item(scanner, call, "scope", "key");
}

TriggerType trigger_type() {
  return {.id = "state",
          .description = "a value was created, updated or deleted",
          .trigger_format =
              R"({"type":"object","properties":{"scope":{"type":"string"},"key":{"type":"string"},)"
              R"("condition_function_id":{"type":"string"}}})",
          .call_format =
              R"({"type":"object","properties":{"type":{"const":"state"},"event_type":{"type":"string"},)"
              R"("scope":{"type":"string"},"key":{"type":"string"},"old_value":{},"new_value":{}}})"};
}

std::string text_or_nothing(const Text& value) { return value == nullptr ? std::string() : *value; }

}  // namespace

State::State(Bus& bus, StateOptions options, store::OpenRecords open)
    : bus_(bus),
      options_(std::move(options)),
      open_(std::move(open)),
      items_(options_.limits),
      triggers_(bus) {}

Result<> State::add(std::string_view id, std::string_view description, std::string_view request,
                    Answer answer) {
  return bus_.add({.spec = {.id = std::string(id),
                            .description = std::string(description),
                            .request_format = std::string(request),
                            .response_format = "",
                            .metadata = ""},
                   .text = [this, answer](TextCall call) { return (this->*answer)(std::move(call)); }});
}

Task<Result<>> State::start() {
  Result<> done = co_await items::open_items(items_, options_.keep, open_);
  if (done) done = add("state::get", "The value of a key, or nothing", kScopeAndKey, &State::get);
  if (done)
    done = add("state::set", "Sets the value of a key; gives the old one and the new", kScopeKeyAndValue,
               &State::set);
  if (done)
    done = add("state::delete", "Deletes a key; gives the value that it had, or nothing", kScopeAndKey,
               &State::erase);
  if (done)
    done = add("state::update",
               "Changes a value by operations (set, merge, increment, decrement, remove, append), at once",
               kScopeKeyAndOps, &State::update);
  if (done) done = add("state::list", "The values of a scope", kScope, &State::list);
  if (done)
    done =
        add("state::list_groups", "The scopes that have values", R"({"type":"object"})", &State::list_groups);
  if (!done || options_.triggers == StateOptions::Triggers::kNo) co_return done;
  co_return bus_.add_trigger_type(trigger_type(), triggers_);
}

Task<> State::stop() { return items_.close(); }

json::Value State::status() const {
  return json::Value::object({{"store_method", options_.keep.file.empty() ? "in_memory" : "file_based"},
                              {"items", items_.size()},
                              {"triggers", triggers_.size()}});
}

Task<Result<>> State::settle(Change& change, StateTriggers::Event event, const TextCall& call) const {
  if (change.durable) {
    Result<> durable = co_await std::move(*change.durable);
    if (!durable) co_return durable;
  }
  triggers_.fire(event, change, call.traceparent, call.baggage);
  co_return Result<>();
}

Task<Result<std::string>> State::get(TextCall call) {
  const Result<ItemCall> item = item_of(scanner_, call);
  if (!item) co_return items::coded(item.error(), "GET_ERROR");
  co_return text_or_nothing(items_.find(item->address()));
}

Task<Result<std::string>> State::set(TextCall call) {
  Result<ItemCall> item = item_of(scanner_, call);
  if (!item) co_return items::coded(item.error(), "SET_ERROR");
  const Result<std::string_view> value = item->fields.raw({"value", "data"});
  if (!value) co_return items::coded(value.error(), "SET_ERROR");
  Result<Change> change = items_.write(item->address(), std::make_shared<const std::string>(*value));
  if (!change) co_return items::coded(change.error(), "SET_ERROR");
  Result<> done = co_await settle(*change, triggers_.about(item->address()), call);
  if (!done) co_return items::coded(done.error(), "SET_ERROR");
  co_return to_text(*change);
}

Task<Result<std::string>> State::erase(TextCall call) {
  const Result<ItemCall> item = item_of(scanner_, call);
  if (!item) co_return items::coded(item.error(), "DELETE_ERROR");
  Result<Change> change = items_.write(item->address(), nullptr);
  if (!change) co_return items::coded(change.error(), "DELETE_ERROR");
  Result<> done = co_await settle(*change, triggers_.about(item->address()), call);
  if (!done) co_return items::coded(done.error(), "DELETE_ERROR");
  co_return text_or_nothing(change->before);
}

Task<Result<std::string>> State::update(TextCall call) {
  Result<ItemCall> item = item_of(scanner_, call);
  if (!item) co_return items::coded(item.error(), "UPDATE_ERROR");
  const Result<std::string_view> ops = item->fields.raw({"ops"});
  if (!ops) co_return items::coded(ops.error(), "UPDATE_ERROR");
  Result<Change> change = items_.update(item->address(), *ops);
  if (!change) co_return items::coded(change.error(), "UPDATE_ERROR");
  Result<> done = co_await settle(*change, triggers_.about(item->address()), call);
  if (!done) co_return items::coded(done.error(), "UPDATE_ERROR");
  co_return to_text(*change);
}

Task<Result<std::string>> State::list(TextCall call) {
  Result<Fields> fields = Fields::read(scanner_, call.data);
  if (!fields) co_return items::coded(fields.error(), "LIST_ERROR");
  const Result<std::string_view> scope = fields->name("scope");
  if (!scope) co_return items::coded(scope.error(), "LIST_ERROR");
  Result<std::string> values = items_.list(viewer_of(call.context.principal).tenant, *scope);
  if (!values) co_return items::coded(values.error(), "LIST_ERROR");
  co_return std::move(*values);
}

Task<Result<std::string>> State::list_groups(TextCall call) {
  const Result<std::string> names = items::name_list(items_.groups(viewer_of(call.context.principal).tenant));
  if (!names) co_return items::coded(names.error(), "LIST_GROUPS_ERROR");
  co_return fmt::format(R"({{"groups":{}}})", *names);
}

namespace {

constexpr std::string_view kOldBridge = "modules::state::adapters::Bridge";
constexpr std::string_view kBridge = "bridge";

bridge::Bridged bridged() {
  return {.module = "state",
          .functions = {"state::get", "state::set", "state::delete", "state::update", "state::list",
                        "state::list_groups"},
          .trigger_types = {trigger_type()}};
}

Result<std::unique_ptr<Module>> make(ModuleParts& parts, const json::Value& config) {
  constexpr std::string_view kOwn[] = {"modules::state::adapters::KvStore", "kv", kOldBridge, kBridge};
  constexpr std::string_view kForeign[] = {"modules::state::adapters::RedisAdapter", "redis"};
  constexpr std::string_view kBridges[] = {kOldBridge, kBridge};
  if (bridge::wants_bridge(config, kBridges)) return bridge::make_bridged(parts, config, bridged());
  ConfigReader reader("state", config);
  const Result<json::Value> adapter = adapter_config(reader, {.own = kOwn, .foreign = kForeign});
  if (!adapter) return fail(adapter.error());
  StateOptions options;
  if (!reader.flag("triggers_enabled").value_or(true)) options.triggers = StateOptions::Triggers::kNo;
  options.limits.value_bytes =
      static_cast<size_t>(reader.integer("max_value_bytes", items::kMaxItemBytes, 1, items::kMostItemBytes));
  reader.integer("save_interval_ms", items::kSaveIntervalMs, 1,
                 items::kMaxSaveIntervalMs);  // without effect, as the adapter's
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  ConfigReader keep("state: adapter: config", *adapter);
  options.keep = items::read_keep_config(keep, parts, "state_store");
  if (const Result<> good = keep.finish(); !good) return fail(good.error());
  return std::make_unique<State>(parts.bus, std::move(options), parts.open_records);
}

}  // namespace

ModuleKind kind() { return {.names = {"modules::state::StateModule", "iii-state"}, .make = make}; }

}  // namespace chela::bus::state
