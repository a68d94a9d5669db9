#pragma once

#include <functional>

#include "app/probe.h"
#include "app/wizard.h"
#include "config/config.h"

namespace chela::app {

// What the wizard works on in a real home: config.toml, the vault, onboard.json, the provider.
class HomePorts final : public WizardPorts {
 public:
  struct Parts {
    ProbeParts probe;
    const cli::Output& output;
    std::function<Result<config::Config>()> configuration;  // as it is now
    std::function<Task<Result<>>()> fetch_local_model;
    std::stop_token stop;
  };
  explicit HomePorts(Parts parts) : parts_(std::move(parts)) {}

  Result<WizardState> load() override;
  Result<> save(WizardState state) override;
  Result<> set_config(std::string_view key, std::string_view value) override;
  Task<Result<crypto::Secret>> ask_secret(std::string prompt) override;
  Task<Result<>> keep_secret(std::string name, crypto::Secret value) override;
  Task<Result<std::vector<std::string>>> models() override;
  Task<Result<>> fetch_local_model() override;
  Task<Result<std::string>> test_call() override;

 private:
  std::string state_path() const;

  Parts parts_;
};

// Whether the wizard was through here, finished or not.
bool was_onboarded(const Paths& paths);

// Whether anything says which model answers: then nobody needs the wizard.
bool is_configured(const config::Config& config, const Paths& paths);

}  // namespace chela::app
