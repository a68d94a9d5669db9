#include "bus/engine_functions.h"

#include "base/check.h"
#include "base/utf8.h"
#include "bus/bus.h"
#include "bus/limits.h"

namespace chela::bus {
namespace {

constexpr size_t kSummaryBytes = 80;
constexpr size_t kMaxInfoIds = 32;

// Whose call it is may be another than the worker's that made it.
Viewer viewer_of_call(const LocalCall& call) { return viewer_of(call.context.principal); }

json::Value parsed(std::string_view raw) {
  if (raw.empty()) return {};
  Result<json::Value> value = json::parse(raw);
  return value ? std::move(*value) : json::Value();
}

std::string worker_name(const Worker* worker) {
  if (worker == nullptr) return "engine";
  return worker->info.name.empty() ? worker->id : worker->info.name;
}

bool is_internal(std::string_view id) { return id.starts_with("engine::") || id.starts_with("engine."); }

bool shows_internal(const json::Value& data) { return data.bool_or("include_internal", false); }

// SDKs before 0.13 know trigger instances under the name that later stands for types, and want schemas in the rows.
bool early_sdk(const LocalCall& call) { return call.caller && call.caller->older_than(0, 13); }

json::Value function_row(const Functions::Row& row) {
  json::Value out = json::Value::object({{"function_id", row.spec->id},
                                         {"worker_name", worker_name(row.worker)},
                                         {"description", row.spec->description}});
  if (!row.spec->metadata.empty()) out.set("metadata", parsed(row.spec->metadata));
  return out;
}

void add_formats(json::Value& out, const FunctionSpec& spec) {
  if (!spec.request_format.empty()) out.set("request_format", parsed(spec.request_format));
  if (!spec.response_format.empty()) out.set("response_format", parsed(spec.response_format));
}

json::Value worker_row(const Worker& worker) {
  json::Value ids = json::Value::array();
  for (const std::string& id : worker.functions) ids.push_back(id);
  const bool named = !worker.info.name.empty();
  json::Value out = json::Value::object({{"id", worker.id}});
  const auto text = [&out](std::string key, const std::string& value) {
    if (!value.empty()) out.set(std::move(key), value);
  };
  text("name", worker.info.name);
  text("runtime", worker.info.runtime);
  text("version", worker.info.version);
  text("os", worker.info.os);
  text("isolation", worker.info.isolation);
  text("description", worker.info.description);
  text("ip_address", worker.address);
  if (worker.info.pid) out.set("pid", *worker.info.pid);
  out.set("status", !named ? "connected" : worker.calls_served > 0 ? "busy" : "available");
  out.set("connected_at_ms", worker.connected_at);
  out.set("function_count", worker.functions.size());
  out.set("functions", std::move(ids));
  out.set("active_invocations", worker.calls_served);
  return out;
}

json::Value trigger_row(const Trigger& trigger) {
  json::Value out = json::Value::object({{"id", trigger.id},
                                         {"trigger_type", trigger.type},
                                         {"function_id", trigger.function_id},
                                         {"worker_name", worker_name(trigger.owner.get())},
                                         {"config", parsed(trigger.config)},
                                         {"config_summary", utf8::prefix(trigger.config, kSummaryBytes)},
                                         {"bound", trigger.state == Trigger::State::kBound}});
  if (!trigger.metadata.empty()) out.set("metadata", parsed(trigger.metadata));
  return out;
}

// What its provider refused is not registered; it can still be asked for by id.
bool is_registered(const Trigger& trigger) { return trigger.state != Trigger::State::kRefused; }

bool matches(const json::Value& filter, std::string_view key, std::string_view text) {
  const std::string wanted = filter.string_or(key);
  return wanted.empty() || wanted == text;
}

bool searched(const json::Value& filter, std::initializer_list<std::string_view> texts) {
  const std::string wanted = filter.string_or("search");
  return wanted.empty() || std::ranges::any_of(texts, [&wanted](std::string_view text) {
           return text.find(wanted) != std::string_view::npos;
         });
}

Result<json::Value> register_worker(Bus& bus, const LocalCall& call) {
  if (!call.caller) return fail(Code::kInvalidArgument, "only a worker can introduce itself");
  const auto text = [&call](std::string_view key) {
    return std::string(utf8::prefix(call.data.string_or(key), kMaxMetadataBytes));
  };
  WorkerInfo info{.name = text("name"),
                  .runtime = text("runtime"),
                  .version = text("version"),
                  .os = text("os"),
                  .isolation = text("isolation"),
                  .description = text("description"),
                  .pid = std::nullopt};
  if (const json::Value* pid = call.data.find("pid")) info.pid = pid->as_int();
  bus.announce(*call.caller, std::move(info));
  return json::Value::object({{"success", true}});
}

Result<json::Value> list_functions(Bus& bus, const LocalCall& call) {
  json::Value rows = json::Value::array();
  const json::Value* workers = call.data.find("workers");
  const json::Array* names = workers == nullptr ? nullptr : workers->as_array();
  for (const Functions::Row& row : bus.functions().list(viewer_of_call(call))) {
    const std::string name = worker_name(row.worker);
    if (is_internal(row.spec->id) && !shows_internal(call.data)) continue;
    if (call.caller && !bus.lets_call(*call.caller, row.spec->id)) continue;
    if (!row.spec->id.starts_with(call.data.string_or("prefix")) || !matches(call.data, "worker", name))
      continue;
    if (!searched(call.data, {row.spec->id, row.spec->description})) continue;
    if (names != nullptr && !names->empty() && std::ranges::find(*names, json::Value(name)) == names->end())
      continue;
    json::Value out = function_row(row);
    if (early_sdk(call)) add_formats(out, *row.spec);
    rows.push_back(std::move(out));
  }
  return json::Value::object({{"functions", std::move(rows)}});
}

json::Value function_info(Bus& bus, const Viewer& viewer, const Functions::Row& row) {
  json::Value out = function_row(row);
  out.set("request_schema", parsed(row.spec->request_format));
  out.set("response_schema", parsed(row.spec->response_format));
  json::Value triggers = json::Value::array();
  for (const Trigger* trigger : bus.triggers().list(viewer)) {
    if (trigger->function_id == row.spec->id && is_registered(*trigger))
      triggers.push_back(trigger_row(*trigger));
  }
  out.set("registered_triggers", std::move(triggers));
  return out;
}

Result<json::Value> info_functions(Bus& bus, const LocalCall& call) {
  const Viewer viewer = viewer_of_call(call);
  const auto one = [&](std::string_view id) -> Result<json::Value> {
    const Functions::Row row = bus.functions().find(id, viewer);
    if (row.spec == nullptr || (call.caller && !bus.lets_call(*call.caller, id)))
      return fail(Code::kNotFound, "there is no function {}", id);
    return function_info(bus, viewer, row);
  };
  const json::Value* many = call.data.find("function_ids");
  if (many == nullptr || many->as_array() == nullptr) return one(call.data.string_or("function_id"));
  if (many->as_array()->size() > kMaxInfoIds)
    return fail(Code::kTooLarge, "function_ids may name {} functions at most", kMaxInfoIds);
  json::Value rows = json::Value::array();
  for (const json::Value& id : *many->as_array()) {
    if (id.as_string() == nullptr) return fail(Code::kInvalidArgument, "function_ids must be texts");
    Result<json::Value> row = one(*id.as_string());
    if (!row) return row;
    rows.push_back(std::move(*row));
  }
  return json::Value::object({{"functions", std::move(rows)}});
}

Result<json::Value> list_workers(Bus& bus, const LocalCall& call) {
  const Viewer viewer = viewer_of_call(call);
  json::Value rows = json::Value::array();
  for (const auto& [id, worker] : bus.workers()) {
    if (!worker->announced || !worker->shows_to(viewer) || !matches(call.data, "worker_id", id)) continue;
    if (!searched(call.data, {worker->info.name, worker->info.description})) continue;
    json::Value row = worker_row(*worker);
    if (bus.observer() != nullptr) row.set("latest_metrics", bus.observer()->latest_metrics(*worker));
    rows.push_back(std::move(row));
  }
  return json::Value::object({{"workers", std::move(rows)}, {"timestamp", bus.clock().now()}});
}

Result<json::Value> info_workers(Bus& bus, const LocalCall& call) {
  const Viewer viewer = viewer_of_call(call);
  const std::string name = call.data.string_or("name");
  for (const auto& [id, worker] : bus.workers()) {
    const bool meant = id == name || (!name.empty() && worker->info.name == name);
    if (meant && worker->shows_to(viewer)) return worker_row(*worker);
  }
  return fail(Code::kNotFound, "there is no worker '{}'", name);
}

json::Value trigger_types(Bus& bus, const LocalCall& call, std::string_view key) {
  json::Value rows = json::Value::array();
  for (const TriggerType* type : bus.triggers().list_types(viewer_of_call(call))) {
    if (is_internal(type->id) && !shows_internal(call.data)) continue;
    if (!searched(call.data, {type->id, type->description})) continue;
    json::Value row = json::Value::object({{"id", type->id}, {"description", type->description}});
    if (key == "trigger_types") {
      if (!type->trigger_format.empty()) row.set("trigger_request_format", parsed(type->trigger_format));
      if (!type->call_format.empty()) row.set("call_request_format", parsed(type->call_format));
    } else {
      row.set("worker_name", worker_name(type->worker.get()));
    }
    rows.push_back(std::move(row));
  }
  return json::Value::object({{std::string(key), std::move(rows)}});
}

json::Value trigger_instances(Bus& bus, const LocalCall& call, std::string_view key) {
  json::Value rows = json::Value::array();
  for (const Trigger* trigger : bus.triggers().list(viewer_of_call(call))) {
    if (is_internal(trigger->type) && !shows_internal(call.data)) continue;
    if (!is_registered(*trigger) || !matches(call.data, "trigger_type", trigger->type) ||
        !matches(call.data, "function_id", trigger->function_id) ||
        !matches(call.data, "worker", worker_name(trigger->owner.get())) ||
        !searched(call.data, {trigger->id, trigger->type, trigger->function_id})) {
      continue;
    }
    rows.push_back(trigger_row(*trigger));
  }
  return json::Value::object({{std::string(key), std::move(rows)}});
}

Result<json::Value> list_triggers(Bus& bus, const LocalCall& call) {
  return early_sdk(call) ? trigger_instances(bus, call, "triggers") : trigger_types(bus, call, "triggers");
}

Result<json::Value> list_trigger_types(Bus& bus, const LocalCall& call) {
  return trigger_types(bus, call, "trigger_types");
}

Result<json::Value> list_registered(Bus& bus, const LocalCall& call) {
  return trigger_instances(bus, call, "registered_triggers");
}

Result<json::Value> info_registered(Bus& bus, const LocalCall& call) {
  const std::string id = call.data.string_or("id");
  for (const Trigger* trigger : bus.triggers().list(viewer_of_call(call))) {
    if (trigger->id == id) return trigger_row(*trigger);
  }
  return fail(Code::kNotFound, "there is no trigger '{}'", id);
}

Result<json::Value> info_trigger_type(Bus& bus, const LocalCall& call) {
  const Viewer viewer = viewer_of_call(call);
  const std::string id = call.data.string_or("id");
  const TriggerType* type = bus.triggers().find_type(id, viewer);
  if (type == nullptr) return fail(Code::kNotFound, "there is no trigger type '{}'", id);
  const std::vector<const Trigger*> all = bus.triggers().list(viewer);
  const auto instances = std::ranges::count_if(
      all, [&id](const Trigger* each) { return each->type == id && is_registered(*each); });
  return json::Value::object({{"id", type->id},
                              {"worker_name", worker_name(type->worker.get())},
                              {"description", type->description},
                              {"configuration_schema", parsed(type->trigger_format)},
                              {"request_schema", parsed(type->call_format)},
                              {"response_schema", nullptr},
                              {"instance_count", instances}});
}

using Answer = Result<json::Value> (*)(Bus&, const LocalCall&);

Task<Result<json::Value>> run(Bus& bus, Answer answer, LocalCall call) { co_return answer(bus, call); }

}  // namespace

json::Value function_rows(const Bus& bus, const Worker& worker, Internal internal) {
  json::Value rows = json::Value::array();
  for (const Functions::Row& row : bus.functions().list(worker.view)) {
    if (!bus.lets_call(worker, row.spec->id)) continue;
    if (is_internal(row.spec->id) && internal == Internal::kHide) continue;
    json::Value out = function_row(row);
    add_formats(out, *row.spec);
    rows.push_back(std::move(out));
  }
  return rows;
}

void add_engine_functions(Bus& bus) {
  struct Row {
    std::string_view id;
    std::string_view description;
    Answer answer;
  };
  static constexpr Row kRows[] = {
      {"engine::workers::register", "a worker says who it is", register_worker},
      {"engine::workers::list", "the connected workers", list_workers},
      {"engine::workers::info", "one worker, by name or id", info_workers},
      {"engine::functions::list", "the functions that can be called", list_functions},
      {"engine::functions::info", "one function, or several, with schemas and triggers", info_functions},
      {"engine::triggers::list", "trigger types; for SDKs before 0.13 the registered triggers",
       list_triggers},
      {"engine::triggers::info", "one trigger type with its schemas", info_trigger_type},
      {"engine::trigger-types::list", "trigger types with their schemas", list_trigger_types},
      {"engine::registered-triggers::list", "the registered triggers", list_registered},
      {"engine::registered-triggers::info", "one registered trigger", info_registered},
  };
  for (const Row& row : kRows) {
    const Result<> added =
        bus.add({.spec = {.id = std::string(row.id), .description = std::string(row.description)},
                 .handler = [&bus, answer = row.answer](LocalCall call) {
                   return run(bus, answer, std::move(call));
                 }});
    CHELA_CHECK(added.has_value(), "the engine's functions have ids of their own");
  }
}

}  // namespace chela::bus
