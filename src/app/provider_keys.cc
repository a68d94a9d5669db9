#include "app/provider_keys.h"

#include <algorithm>

#include "config/keys.h"

namespace chela::app {

std::string EngineKeys::variable(std::string_view name) const {
  for (const config::Key& key : config::keys()) {
    if (config_ == nullptr || std::ranges::find(key.foreign, name) == key.foreign.end()) continue;
    const config::Value& value = config_->value(key.name);
    // A default is the configuration's own, not something that a person said.
    return value.given ? value.text : std::string();
  }
  const auto found = environment_.find(std::string(name));
  return found != environment_.end() ? found->second : std::string();
}

Task<Result<std::string>> EngineKeys::from_vault(std::string name) {
  const Result<crypto::Secret> secret = co_await vault_.get(owner_, std::move(name));
  if (!secret) co_return fail(secret.error());
  co_return std::string(secret->view());
}

Task<> EngineKeys::read_names() {
  const Result<std::vector<security::SecretInfo>> all = co_await vault_.list(owner_);
  secrets_.clear();
  for (const security::SecretInfo& each : all.value_or(std::vector<security::SecretInfo>{}))
    secrets_.insert(each.name);
  ++changes_;
}

}  // namespace chela::app
