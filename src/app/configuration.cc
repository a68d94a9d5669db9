#include "app/configuration.h"

#include "app/catalog.h"
#include "base/limits.h"
#include "obs/log.h"
#include "os/environment.h"
#include "os/file.h"
#include "security/authenticator.h"
#include "security/vault_file.h"

namespace chela::app {

Result<std::string> read_configuration_file(const Paths& paths) {
  Result<std::string> text = os::read_file(paths.config, kMaxConfigBytes);
  if (!text && text.error().code == Code::kNotFound) return std::string();
  return text;
}

Result<config::Sources> read_sources(const Paths& paths,
                                     std::vector<std::pair<std::string, std::string>> flags,
                                     const std::map<std::string, std::string>& environment,
                                     MissingSecrets missing) {
  config::Sources sources{.flags = std::move(flags), .environment = environment, .file_path = paths.config};
  sources.secrets = [home = paths.home,
                     missing](const config::SecretReference& reference) -> Result<std::string> {
    const security::VaultFile vault(home, reference.master_key);
    const Scope scope = security::owner_principal(reference.user).scope();
    const Result<crypto::Secret> value = vault.get(scope, reference.name);
    if (value) return std::string(value->view());
    if (missing == MissingSecrets::kLeaveOut) return std::string();
    return fail(value.error());
  };
  sources.check_provider = [environment, home = paths.home](const std::string& name) -> Result<> {
    const Result<llm::ModelData> data = find_model_data(environment, home);
    if (!data) return fail(data.error());
    return llm::check_backend(name, data->providers);
  };
  Result<std::string> text = read_configuration_file(paths);
  if (!text) return fail(text.error());
  sources.file_text = std::move(*text);
  return sources;
}

void hide_secrets(const config::Config& config, const std::vector<std::string>& variables,
                  const std::map<std::string, std::string>& environment) {
  for (const std::string& each : config.secret_values()) log::register_secret(each);
  os::scrub_environment(config::Config::secret_variables());
  for (const std::string& name : variables) {
    if (const auto found = environment.find(name); found != environment.end() && !found->second.empty())
      log::register_secret(found->second);
  }
  os::scrub_environment(variables);
}

}  // namespace chela::app
