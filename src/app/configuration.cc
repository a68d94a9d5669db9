#include "app/configuration.h"

#include "base/limits.h"
#include "obs/log.h"
#include "os/environment.h"
#include "os/file.h"

namespace chela::app {
Result<config::Config> load_configuration(const Paths& paths,
                                          std::vector<std::pair<std::string, std::string>> flags,
                                          const std::map<std::string, std::string>& environment) {
  config::Sources sources{.flags = std::move(flags), .environment = environment, .file_path = paths.config};
  Result<std::string> text = os::read_file(paths.config, kMaxConfigBytes);
  if (text) {
    sources.file_text = std::move(*text);
  } else if (text.error().code != Code::kNotFound) {
    return fail(text.error());
  }
  return config::Config::load(sources);
}

void hide_secrets(const config::Config& config) {
  for (const std::string& each : config.secret_values()) log::register_secret(each);
  os::scrub_environment(config::Config::secret_variables());
}

}  // namespace chela::app
