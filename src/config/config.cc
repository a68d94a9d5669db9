#include "config/config.h"

#include "config/build_settings.h"
#include "config/toml_file.h"
#include "config/values.h"

namespace chela::config {
namespace {

constexpr std::string_view kMask = "[hidden]";
constexpr std::string_view kHeaders = "llm.extra_headers";

// A text somebody gave for a key, before it is checked.
struct Found {
  std::string text;
  Layer layer = Layer::kDefault;
  std::string origin;
};

Failure unknown_key(std::string_view where, std::string_view name) {
  const std::string_view closest = closest_key(name);
  if (closest.empty())
    return fail(Code::kInvalidArgument, "{}: there is no key '{}'; `chela config` lists them all", where,
                name);
  return fail(Code::kInvalidArgument, "{}: there is no key '{}'; did you mean '{}'?", where, name, closest);
}

// The highest layer that has the key.
Found find(const Key& key, const Sources& sources, const std::vector<FileValue>& file) {
  for (auto flag = sources.flags.rbegin(); flag != sources.flags.rend(); ++flag) {
    if (flag->first == key.name) return {flag->second, Layer::kFlag, "--" + flag->first};
  }
  const auto variable = [&](const std::string& name) {
    const auto found = sources.environment.find(name);
    return found != sources.environment.end() && !found->second.empty() ? &found->second : nullptr;
  };
  if (const std::string* text = variable(env_name(key))) return {*text, Layer::kEnvironment, env_name(key)};
  for (const std::string_view foreign : key.foreign) {
    if (const std::string* text = variable(std::string(foreign)))
      return {*text, Layer::kForeign, std::string(foreign)};
  }
  for (const FileValue& value : file) {
    if (value.name == key.name)
      return {value.text, Layer::kFile, fmt::format("{}:{}", sources.file_path, value.line)};
  }
  if (const auto stored = sources.settings.find(std::string(key.name)); stored != sources.settings.end()) {
    return {stored->second, Layer::kSettings, "settings"};
  }
  return {std::string(key.fallback), Layer::kDefault, "default"};
}

// A value of a layer other than the default, on its own: whether it fits its key, and may stand where it stands.
Result<> check_found(const Key& key, const Found& found) {
  if (const Result<> good = check_value(key, found.text); !good) {
    Error error = good.error();
    error.message = fmt::format("{}: {}", found.origin, error.message);
    return fail(std::move(error));
  }
  const bool secret = key.type == Type::kSecret && !found.text.empty();
  if (secret && found.layer != Layer::kEnvironment && found.layer != Layer::kForeign) {
    return fail(Code::kInvalidArgument, "{}: {} is a secret and belongs into the environment only: set {}",
                found.origin, key.name, env_name(key));
  }
  return {};
}

}  // namespace

std::string_view layer_name(Layer layer) {
  switch (layer) {
    case Layer::kFlag:
      return "flag";
    case Layer::kEnvironment:
      return "environment";
    case Layer::kForeign:
      return "foreign";
    case Layer::kFile:
      return "file";
    case Layer::kSettings:
      return "settings";
    case Layer::kDefault:
      return "default";
  }
  return "default";
}

Result<Config> Config::load(const Sources& sources) {
  const Result<std::vector<FileValue>> file = read_toml(sources.file_text, sources.file_path);
  if (!file) return fail(file.error());
  // All of the file is checked: what a higher layer hides today counts again tomorrow.
  for (const FileValue& value : *file) {
    const Key* key = find_key(value.name);
    const std::string origin = fmt::format("{}:{}", sources.file_path, value.line);
    if (key == nullptr) return unknown_key(origin, value.name);
    if (const Result<> good = check_found(*key, {value.text, Layer::kFile, origin}); !good)
      return fail(good.error());
  }
  for (const auto& [name, text] : sources.flags) {
    if (find_key(name) == nullptr) return unknown_key("command line", name);
  }
  for (const auto& [name, text] : sources.environment) {
    // CHELA_HOME and the like are not keys; a mistyped key's variable is told apart by its likeness.
    if (!name.starts_with("CHELA_")) continue;
    bool known = false;
    for (const Key& key : keys()) known = known || env_name(key) == name;
    if (known) continue;
    for (const Key& key : keys()) {
      const std::string section = env_name(key).substr(0, 6 + key.name.find('.') + 1);
      if (name.starts_with(section))
        return fail(Code::kInvalidArgument, "environment: {} sets no key; `chela config` lists them all",
                    name);
    }
  }

  Config config;
  std::map<std::string, Value, std::less<>> values;
  for (const Key& key : keys()) {
    const Found found = find(key, sources, *file);
    const bool given = found.layer != Layer::kDefault;
    if (given || !found.text.empty()) {
      if (const Result<> good = check_found(key, found); !good) return fail(good.error());
    }
    values[std::string(key.name)] = {found.text, given};
    const bool hidden = key.type == Type::kSecret && !found.text.empty();
    if (hidden) config.secrets_.push_back(found.text);
    const bool masked = hidden || (key.name == kHeaders &&
                                   given);  // headers may carry a key, and need not come from the environment
    config.explained_[std::string(key.name)] = {&key, masked ? std::string(kMask) : found.text, found.layer,
                                                found.origin};
  }
  Result<Settings> settings =
      build_settings([&values](std::string_view name) { return values.find(name)->second; });
  if (!settings) return fail(settings.error());
  config.settings_ = std::move(*settings);
  return config;
}

Result<Explained> Config::explain(std::string_view key) const {
  const auto found = explained_.find(key);
  if (found != explained_.end()) return found->second;
  const std::string_view closest = closest_key(key);
  if (closest.empty())
    return fail(Code::kNotFound, "there is no key '{}'; `chela config` lists them all", key);
  return fail(Code::kNotFound, "there is no key '{}'; did you mean '{}'?", key, closest);
}

std::vector<Explained> Config::explain_all() const {
  std::vector<Explained> all;
  for (const auto& [name, explained] : explained_) all.push_back(explained);
  return all;
}

std::vector<std::string> Config::secret_variables() {
  std::vector<std::string> names;
  for (const Key& key : keys()) {
    if (key.type != Type::kSecret && key.name != kHeaders) continue;
    names.push_back(env_name(key));
    for (const std::string_view foreign : key.foreign) names.emplace_back(foreign);
  }
  return names;
}

std::vector<std::string> Config::secret_values() const {
  std::vector<std::string> values = secrets_;
  for (const auto& [name, value] : settings_.llm.extra_headers) values.push_back(value);
  return values;
}

}  // namespace chela::config
