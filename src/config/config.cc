#include "config/config.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "config/toml_file.h"
#include "config/values.h"

namespace chela::config {
namespace {

constexpr std::string_view kMask = "[hidden]";
constexpr std::string_view kMasterKey = "secrets.master_key";
constexpr std::string_view kBackend = "llm.backend";
constexpr std::string_view kLocalModels = "local/";
// What is said of one provider and would be wrong, or tell a secret, at another.
constexpr std::array<std::string_view, 5> kOfProvider{"llm.api_key", "llm.base_url", "llm.extra_headers",
                                                      "llm.model", "llm.unix_socket"};

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

// What another system's variable says in this one's words: one that is named after seconds holds a bare number of them.
std::string from_foreign(const Key& key, std::string_view variable, const std::string& text) {
  if (key.foreign_says == Foreign::kPresence) return "true";
  const bool bare = text.find_first_not_of("0123456789") == std::string::npos;
  return key.type == Type::kDuration && bare && variable.ends_with("_SECS") ? text + "s" : text;
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
      return {from_foreign(key, foreign, *text), Layer::kForeign, std::string(foreign)};
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

// The backend that the file or the settings table names.
std::string backend_of(Layer layer, const Sources& sources, const std::vector<FileValue>& file) {
  if (layer == Layer::kSettings) {
    const auto stored = sources.settings.find(std::string(kBackend));
    return stored != sources.settings.end() ? stored->second : "";
  }
  const auto value =
      std::find_if(file.begin(), file.end(), [](const FileValue& each) { return each.name == kBackend; });
  return value != file.end() ? value->text : "";
}

// Whether the file or the table means another provider with a value than the one that a higher layer chose: LLM_BACKEND=ollama beside
// a file for the local model must not end at the local model.
bool of_another_backend(const Key& key, const Found& found, const Sources& sources,
                        const std::vector<FileValue>& file) {
  if (std::find(kOfProvider.begin(), kOfProvider.end(), key.name) == kOfProvider.end()) return false;
  const Found chosen = find(*find_key(kBackend), sources, file);
  const std::optional<NamedBackend> wanted = backend_named(chosen.text);
  const bool is_stored = found.layer == Layer::kFile || found.layer == Layer::kSettings;
  if (!wanted || !is_stored || chosen.layer >= found.layer) return false;
  const std::optional<NamedBackend> meant = backend_named(backend_of(found.layer, sources, file));
  if (meant) return *meant != *wanted;
  return key.name == "llm.model" && wanted->backend != LlmBackend::kLocal &&
         found.text.starts_with(kLocalModels);
}

// A value of a layer other than the default, on its own: whether it fits its key, and may stand where it stands.
Result<> check_found(const Key& key, const Found& found) {
  if (const Result<> good = check_value(key, found.text); !good) {
    Error error = good.error();
    error.message = fmt::format("{}: {}", found.origin, error.message);
    return fail(std::move(error));
  }
  const bool secret = key.type == Type::kSecret && !found.text.empty() && !is_secret_reference(found.text);
  if (secret && found.layer != Layer::kEnvironment && found.layer != Layer::kForeign) {
    return fail(
        Code::kInvalidArgument,
        "{}: {} is a secret: set {} in the environment, or keep it with `chela secret set NAME` and write "
        "secret:NAME here",
        found.origin, key.name, env_name(key));
  }
  return {};
}

// Asks for the secret that a value names.
Result<std::string> look_up(const Key& key, const Found& found, const Sources& sources,
                            const std::vector<FileValue>& file) {
  const std::string name = found.text.substr(kSecretReference.size());
  if (!sources.secrets)
    return fail(Code::kUnsupported, "{}: {} = {}: there is no vault here", found.origin, key.name,
                found.text);
  Result<std::string> value =
      sources.secrets({.name = name,
                       .user = find(*find_key("gateway.user_id"), sources, file).text,
                       .master_key = find(*find_key(kMasterKey), sources, file).text});
  if (value) return value;
  Error error = value.error();
  error.message = fmt::format("{}: {} = {}: {}", found.origin, key.name, found.text, error.message);
  return fail(std::move(error));
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
  for (const Key& key : keys()) {
    Found found = find(key, sources, *file);
    if (of_another_backend(key, found, sources, *file))
      found = {.text = std::string(key.fallback), .origin = "default"};
    bool given = found.layer != Layer::kDefault;
    if (given || !found.text.empty()) {
      if (const Result<> good = check_found(key, found); !good) return fail(good.error());
    }
    std::string shown;  // instead of the mask
    if (key.type == Type::kSecret && is_secret_reference(found.text)) {
      Result<std::string> secret = look_up(key, found, sources, *file);
      if (!secret) return fail(secret.error());
      shown = std::exchange(found.text, std::move(*secret));
      given = !found.text.empty();
    }
    config.values_[std::string(key.name)] = {found.text, given, found.layer == Layer::kSettings};
    const bool hidden = key.type == Type::kSecret && !found.text.empty();
    if (hidden) config.secrets_.push_back(found.text);
    if (shown.empty()) shown = hidden || (key.secret() && given) ? kMask : found.text;
    config.explained_[std::string(key.name)] = {&key, std::move(shown), found.layer, found.origin};
  }
  if (const Result<> built = config.build(); !built) return fail(built.error());
  const LlmSettings& llm = config.settings_.llm;
  if (llm.backend == LlmBackend::kProvider && sources.check_provider) {
    if (const Result<> known = sources.check_provider(llm.provider); !known) return fail(known.error());
  }
  return config;
}

Result<> Config::build() {
  Result<Settings> settings =
      build_settings([this](std::string_view name) { return values_.find(name)->second; });
  if (!settings) return fail(settings.error());
  settings_ = std::move(*settings);
  return {};
}

const Value& Config::value(std::string_view key) const {
  const auto found = values_.find(key);
  CHELA_CHECK(found != values_.end(), "a key of the table");
  return found->second;
}

Result<Config> Config::with_reloadable(const Config& next) const {
  Config blend = *this;
  for (const Key& key : keys()) {
    if (key.reload != Reload::kAtOnce) continue;
    blend.values_[std::string(key.name)] = next.value(key.name);
    blend.explained_[std::string(key.name)] = next.explained_.find(key.name)->second;
  }
  if (const Result<> built = blend.build(); !built) return fail(built.error());
  return blend;
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
    if (!key.secret()) continue;
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
