#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/build_settings.h"
#include "config/keys.h"
#include "config/settings.h"

namespace chela::config {

// Where values come from, highest first.
enum class Layer { kFlag, kEnvironment, kForeign, kFile, kSettings, kDefault };

std::string_view layer_name(Layer layer);

// A value `secret:NAME`: which secret it names, whose it is, and the master key that this configuration has for the vault.
struct SecretReference {
  std::string name;
  std::string user;
  std::string master_key;  // "" = the vault's key file
};
// The secret's value. An error stops the start.
using SecretLookup = std::function<Result<std::string>(const SecretReference&)>;

// All that a configuration is made of. Texts, not handles: whoever calls has read file, environment and table.
struct Sources {
  std::vector<std::pair<std::string, std::string>> flags = {};  // key name, text; the last of a name wins
  std::map<std::string, std::string> environment = {};          // empty values count as not set
  std::string file_path = {};                                   // for messages
  std::string file_text = {};                                   // TOML
  std::map<std::string, std::string> settings = {};  // key name, text; unknown names are passed over
  SecretLookup secrets = {};                         // without it a `secret:NAME` is an error
  // Whether a provider of that name can be the backend, asked only for a name that this folder does not know; without it any can. The
  // error names those there are.
  std::function<Result<>(const std::string& name)> check_provider = {};
};

// A value as it won, for `chela config` and error messages.
struct Explained {
  const Key* key = nullptr;
  std::string value;  // secrets masked, their references not
  Layer layer = Layer::kDefault;
  std::string origin;  // "LLM_MODEL", "config.toml:12", "--port", "default"
};

// The configuration of one start. Immutable.
class Config {
 public:
  // kInvalidArgument names file, line, key, what was expected and what was given; kUnsupported names a backend that there is none of
  // and what to use instead.
  static Result<Config> load(const Sources& sources);

  const Settings& settings() const { return settings_; }
  // kNotFound with the closest name for a key that there is none of.
  Result<Explained> explain(std::string_view key) const;
  std::vector<Explained> explain_all() const;

  // The text that won, secrets included; for comparing.
  const Value& value(std::string_view key) const;
  // This configuration with those values of `next` that count at once (Reload::kAtOnce).
  Result<Config> with_reloadable(const Config& next) const;

  // All variables that may hold a secret, for os::scrub_environment.
  static std::vector<std::string> secret_variables();
  // The secrets that it read, also those that the chosen backend does not use, for log::register_secret.
  std::vector<std::string> secret_values() const;

 private:
  using Values = std::map<std::string, Value, std::less<>>;
  Result<> build();

  Settings settings_;
  Values values_;
  std::map<std::string, Explained, std::less<>> explained_;
  std::vector<std::string> secrets_;
};

}  // namespace chela::config
