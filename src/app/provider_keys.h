#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "config/live.h"
#include "llm/backends/provider_keys.h"
#include "security/vault.h"

namespace chela::app {

// Where the keys of providers are: a variable that is a name of a configuration key has that key's value, any other that of the
// environment at the start; secrets are the owner's. Loop thread only; outlives the providers.
class EngineKeys final : public llm::ProviderKeys {
 public:
  // Without a configuration the environment alone counts.
  EngineKeys(const config::Config* config, std::map<std::string, std::string> environment,
             security::Vault& vault, Scope owner)
      : config_(config), environment_(std::move(environment)), vault_(vault), owner_(std::move(owner)) {}

  std::string variable(std::string_view name) const override;
  bool in_vault(std::string_view name) const override { return secrets_.contains(name); }
  Task<Result<std::string>> from_vault(std::string name) override;
  std::uint64_t changes() const override { return changes_; }

  // What secrets there are, to be told at the start and after each change of the vault. One that cannot be read has none.
  Task<> read_names();

 private:
  const config::Config* config_;
  std::map<std::string, std::string> environment_;
  security::Vault& vault_;
  Scope owner_;
  std::set<std::string, std::less<>> secrets_;
  std::uint64_t changes_ = 0;
};

}  // namespace chela::app
