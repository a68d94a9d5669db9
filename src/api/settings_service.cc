#include "api/settings_service.h"

#include <algorithm>

#include "base/limits.h"
#include "config/json_value.h"
#include "config/values.h"
#include "obs/log.h"

namespace chela::api {
namespace {

using json::Value;

constexpr std::string_view kConfigPrefix = "config:";  // of the rows that are configuration
constexpr std::string_view kFreePrefix = "ui.";
constexpr std::string_view kAdmin = "admin";

bool is_free(std::string_view key) { return key.starts_with(kFreePrefix); }

Result<> check_free_key(std::string_view key) {
  const bool good = key.size() > kFreePrefix.size() && key.size() <= kMaxSettingKeyBytes &&
                    std::all_of(key.begin(), key.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                             c == '.' || c == '_' || c == '-';
                    });
  if (good) return {};
  return fail(Code::kUnprocessable,
              "a free key is ui. and letters, digits, '.', '_' or '-', at most {} bytes in all",
              kMaxSettingKeyBytes);
}

Failure unknown_key(std::string_view key) {
  const std::string shown(key.substr(0, kMaxSettingKeyBytes));
  const std::string_view closest = config::closest_key(key);
  if (closest.empty())
    return fail(
        Code::kNotFound,
        "there is no setting '{}'; `chela config` lists them all; keys of your own begin with \"ui.\"",
        shown);
  return fail(Code::kNotFound, "there is no setting '{}'; did you mean '{}'?", shown, closest);
}

Result<> check_storable(const config::Key& key, std::string_view text) {
  if (config::storable(key, text)) return {};
  if (key.in_table == config::InTable::kNo) {
    return fail(
        Code::kUnprocessable,
        "{} has to be known before the settings can be read; set it in the configuration file or as {}",
        key.name, config::env_name(key));
  }
  return fail(
      Code::kUnprocessable,
      "{} is a secret and is not kept among the settings; keep it in the vault and give secret:NAME, or "
      "set {} for the engine",
      key.name, config::env_name(key));
}

std::string_view type_name(config::Type type) {
  switch (type) {
    case config::Type::kInt:
      return "integer";
    case config::Type::kNumber:
      return "number";
    case config::Type::kBool:
      return "boolean";
    case config::Type::kDuration:
      return "duration";
    case config::Type::kBytes:
      return "bytes";
    case config::Type::kChoice:
      return "choice";
    case config::Type::kList:
      return "list";
    case config::Type::kSecret:
    case config::Type::kString:
      break;
  }
  return "string";
}

Value free_entry(const store::SettingRow& row) {
  const Result<Value> value = json::parse(row.value);
  return Value::object({{"key", row.key},
                        {"value", value.value_or(Value())},
                        {"updated_at", format_rfc3339(row.updated_at)},
                        {"source", config::layer_name(config::Layer::kSettings)},
                        {"default", Value()},
                        {"help", ""},
                        {"type", "any"},
                        {"reloadable", true},
                        {"secret", false}});
}

}  // namespace

SettingsService::SettingsService(Parts parts) : p_(std::move(parts)), mutex_(p_.loop) {}

Task<Result<std::map<std::string, std::string>>> SettingsService::load(store::SettingsStore& store,
                                                                       Scope owner) {
  const auto stored = co_await store.list(std::move(owner), std::string(kConfigPrefix));
  if (!stored) co_return fail(stored.error());
  std::map<std::string, std::string> layer;
  for (const auto& [row, text] : *stored) {
    const std::string name = row.substr(kConfigPrefix.size());
    const config::Key* key = config::find_key(name);
    const Result<Value> value = json::parse(text);
    Result<std::string> good = key && value
                                   ? config::text_of(*key, *value)
                                   : Result<std::string>(fail(Code::kNotFound, "there is no such setting"));
    if (good && !config::storable(*key, *good)) good = fail(Code::kUnprocessable, "it may not be stored");
    if (good) {
      layer.emplace(name, *good);
    } else {
      log::warn("config", "a stored setting is passed over", {{"key", name}, {"why", good.error().message}});
    }
  }
  co_return layer;
}

Task<Result<SettingsService::Rows>> SettingsService::rows(Scope scope, std::string prefix) {
  Result<std::vector<store::SettingRow>> found = co_await p_.store.rows(std::move(scope), prefix);
  if (!found) co_return fail(found.error());
  Rows rows;
  for (store::SettingRow& row : *found) {
    if (prefix == kConfigPrefix) row.key.erase(0, kConfigPrefix.size());
    std::string key = row.key;
    rows.emplace(std::move(key), std::move(row));
  }
  co_return rows;
}

// `value` is what is configured; where the engine still works with another one, that is `running`.
Value SettingsService::entry(const config::Key& key, const Rows& rows) const {
  const Result<config::Explained> explained = p_.live.wanted().explain(key.name);
  const auto shown = [&key](const config::Config& config) {
    return key.secret() ? Value() : config::json_of(key, config.value(key.name).text);
  };
  Value out = Value::object({{"key", key.name}, {"value", shown(p_.live.wanted())}});
  if (const auto row = rows.find(std::string(key.name)); row != rows.end())
    out.set("updated_at", format_rfc3339(row->second.updated_at));
  out.set("source", config::layer_name(explained->layer));
  out.set("origin", explained->origin);
  out.set("default", key.secret() ? Value() : config::json_of(key, key.fallback));
  out.set("help", key.help);
  out.set("type", type_name(key.type));
  out.set("reloadable", key.reload == config::Reload::kAtOnce);
  out.set("secret", key.secret());
  if (key.secret()) out.set("is_set", !p_.live.wanted().value(key.name).text.empty());
  if (key.secret() && config::is_secret_reference(explained->value)) out.set("reference", explained->value);
  if (!key.choices.empty()) {
    Value choices = Value::array();
    for (const std::string_view each : key.choices) choices.push_back(each);
    out.set("choices", std::move(choices));
  }
  Value variables = Value::array({config::env_name(key)});
  for (const std::string_view each : key.foreign) variables.push_back(each);
  out.set("environment", std::move(variables));
  if (p_.live.waits_for_restart(key.name)) {
    out.set("restart_required", true);
    if (!key.secret()) out.set("running", shown(p_.live.running()));
  }
  return out;
}

Task<Result<Value>> SettingsService::list(op::Principal caller, std::string prefix) {
  const Result<Rows> stored = co_await rows(p_.owner, std::string(kConfigPrefix));
  if (!stored) co_return fail(stored.error());
  const Result<Rows> own = co_await rows(caller.scope(), std::string(kFreePrefix));
  if (!own) co_return fail(own.error());
  Value settings = Value::array();
  for (const config::Key& key : config::keys()) {
    if (key.name.starts_with(prefix)) settings.push_back(entry(key, *stored));
  }
  for (const auto& [key, row] : *own) {
    if (key.starts_with(prefix)) settings.push_back(free_entry(row));
  }
  co_return Value::object({{"settings", std::move(settings)}});
}

Task<Result<Value>> SettingsService::get(op::Principal caller, std::string key) {
  if (is_free(key)) {
    const Result<Rows> own = co_await rows(caller.scope(), key);
    if (!own) co_return fail(own.error());
    const auto found = own->find(key);
    if (found == own->end()) co_return fail(Code::kNotFound, "the setting is not set");
    co_return free_entry(found->second);
  }
  const config::Key* known = config::find_key(key);
  if (known == nullptr) co_return unknown_key(key);
  const Result<Rows> stored = co_await rows(p_.owner, std::string(kConfigPrefix));
  if (!stored) co_return fail(stored.error());
  co_return entry(*known, *stored);
}

// A change of one key, checked on its own. Without a value the key is removed.
Result<> SettingsService::add(const op::Principal& caller, const std::string& key, const Value* value,
                              Changes& changes) const {
  if (is_free(key)) {
    if (Result<> good = check_free_key(key); !good) return good;
    std::optional<std::string> text;
    if (value) text = json::write(*value);
    if (text && text->size() > kMaxSettingBytes)
      return fail(Code::kUnprocessable, "{} is longer than {} bytes", key, kMaxSettingBytes);
    changes.rows.push_back({caller.scope(), key, std::move(text)});
    return {};
  }
  const config::Key* known = config::find_key(key);
  if (known == nullptr) return unknown_key(key);
  if (!caller.allows(kAdmin))
    return fail(Code::kPermissionDenied, "{} configures the engine: it needs the permission {}", key, kAdmin);
  std::optional<std::string> text;
  if (value) {
    Result<std::string> checked = config::text_of(*known, *value);
    if (!checked) return fail(checked.error());
    if (Result<> good = check_storable(*known, *checked); !good) return good;
    text = std::move(*checked);
  }
  std::optional<std::string> stored;
  if (text) stored = json::write(config::json_of(*known, *text));
  changes.rows.push_back({p_.owner, std::string(kConfigPrefix) + key, std::move(stored)});
  changes.config[key] = std::move(text);
  return {};
}

Task<Result<>> SettingsService::check_room(const Changes& changes, Scope scope) {
  const auto adds =
      std::count_if(changes.rows.begin(), changes.rows.end(),
                    [](const store::SettingChange& each) { return each.value && is_free(each.key); });
  if (adds == 0) co_return Result<>{};
  Result<Rows> own = co_await rows(std::move(scope), std::string(kFreePrefix));
  if (!own) co_return fail(own.error());
  for (const store::SettingChange& each : changes.rows) {
    if (each.value && is_free(each.key)) own->emplace(each.key, store::SettingRow{});
  }
  if (own->size() > kMaxFreeSettings)
    co_return fail(Code::kUnprocessable, "there would be more than {} settings of your own",
                   kMaxFreeSettings);
  co_return Result<>{};
}

// What does not load as a whole is not written; what is not written does not count.
Task<Result<>> SettingsService::apply(Changes changes) {
  config::Sources next = p_.sources;
  for (const auto& [key, text] : changes.config) {
    if (text) {
      next.settings[key] = *text;
    } else {
      next.settings.erase(key);
    }
  }
  // What a higher layer hides today counts again tomorrow: it has to be right now.
  config::Sources on_top = next;
  for (const auto& [key, text] : changes.config) {
    if (text) on_top.flags.emplace_back(key, *text);
  }
  if (const Result<config::Config> good = config::Config::load(on_top); !good)
    co_return fail(Code::kUnprocessable, "{}", good.error().message);
  Result<config::Config> loaded = config::Config::load(next);
  if (!loaded) co_return fail(Code::kUnprocessable, "{}", loaded.error().message);
  Result<> written = co_await p_.store.apply(std::move(changes.rows), p_.loop.clock().now());
  if (!written) co_return written;
  p_.sources = std::move(next);
  if (!changes.config.empty()) p_.live.replace(std::move(*loaded));
  co_return Result<>{};
}

std::string SettingsService::restart_warning(const std::string& key) const {
  if (is_free(key) || !p_.live.waits_for_restart(key)) return {};
  return fmt::format("{} takes effect at the next start of the engine", key);
}

std::string SettingsService::warning(const std::string& key) const {
  if (is_free(key)) return {};
  const Result<config::Explained> explained = p_.live.wanted().explain(key);
  if (!explained) return {};
  if (explained->layer < config::Layer::kSettings) {
    return fmt::format("{} is set by {} ({}), which wins; what is stored counts once that is gone", key,
                       explained->origin, config::layer_name(explained->layer));
  }
  return restart_warning(key);
}

Task<Result<std::string>> SettingsService::put(op::Principal caller, std::string key, Value value) {
  if (value.is_null() && !is_free(key))
    co_return fail(Code::kUnprocessable, "a setting has a value; DELETE goes back to what is below");
  const runtime::Mutex::Guard guard = co_await mutex_.lock();
  Changes changes;
  if (Result<> good = add(caller, key, &value, changes); !good) co_return fail(good.error());
  if (Result<> room = co_await check_room(changes, caller.scope()); !room) co_return fail(room.error());
  if (Result<> done = co_await apply(std::move(changes)); !done) co_return fail(done.error());
  log::info("config", "a setting was changed", {{"key", key}, {"user", caller.user}});
  co_return warning(key);
}

Task<Result<std::string>> SettingsService::remove(op::Principal caller, std::string key) {
  const runtime::Mutex::Guard guard = co_await mutex_.lock();
  Changes changes;
  if (Result<> good = add(caller, key, nullptr, changes); !good) co_return fail(good.error());
  if (Result<> done = co_await apply(std::move(changes)); !done) co_return fail(done.error());
  log::info("config", "a setting was reset", {{"key", key}, {"user", caller.user}});
  co_return restart_warning(key);
}

Task<Result<Value>> SettingsService::export_all(op::Principal caller) {
  const Result<Rows> stored = co_await rows(p_.owner, std::string(kConfigPrefix));
  if (!stored) co_return fail(stored.error());
  const Result<Rows> own = co_await rows(caller.scope(), std::string(kFreePrefix));
  if (!own) co_return fail(own.error());
  Value out = Value::object();
  for (const Rows* part : {&*stored, &*own}) {
    for (const auto& [key, row] : *part) {
      const Result<Value> value = json::parse(row.value);
      const config::Key* known = config::find_key(key);
      const Result<std::string> text = known && value ? config::text_of(*known, *value)
                                                      : Result<std::string>(fail(Code::kNotFound, "none"));
      if (value && (is_free(key) || (text && config::storable(*known, *text)))) out.set(key, *value);
    }
  }
  co_return Value::object({{"settings", std::move(out)}});
}

Task<Result<std::vector<std::string>>> SettingsService::import_all(op::Principal caller, Value settings) {
  const runtime::Mutex::Guard guard = co_await mutex_.lock();
  Changes changes;
  for (const auto& [key, value] : *settings.as_object()) {
    if (Result<> good = add(caller, key, &value, changes); !good) co_return fail(good.error());
  }
  if (Result<> room = co_await check_room(changes, caller.scope()); !room) co_return fail(room.error());
  if (Result<> done = co_await apply(std::move(changes)); !done) co_return fail(done.error());
  std::vector<std::string> warnings;
  for (const auto& [key, value] : *settings.as_object()) {
    if (std::string text = warning(key); !text.empty()) warnings.push_back(std::move(text));
  }
  log::info("config", "settings were imported",
            {{"keys", settings.as_object()->size()}, {"user", caller.user}});
  co_return warnings;
}

Task<Result<>> SettingsService::reload() {
  const runtime::Mutex::Guard guard = co_await mutex_.lock();
  config::Sources next = p_.sources;
  Result<std::string> text = p_.read_file();
  if (!text) co_return fail(text.error());
  next.file_text = std::move(*text);
  Result<std::map<std::string, std::string>> stored = co_await load(p_.store, p_.owner);
  if (!stored) co_return fail(stored.error());
  next.settings = std::move(*stored);
  Result<config::Config> loaded = config::Config::load(next);
  if (!loaded) co_return fail(loaded.error());
  for (const std::string& each : loaded->secret_values()) log::register_secret(each);
  p_.sources = std::move(next);
  p_.live.replace(std::move(*loaded));
  co_return Result<>{};
}

}  // namespace chela::api
