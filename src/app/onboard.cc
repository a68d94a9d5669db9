#include "app/onboard.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/secret_input.h"
#include "config/toml_edit.h"
#include "os/file.h"
#include "runtime/pool.h"
#include "security/authenticator.h"
#include "security/file_vault.h"

namespace chela::app {
namespace {

constexpr mode_t kPrivate = 0600;
constexpr size_t kMaxStateBytes = 4096;

std::string state_path_of(const Paths& paths) { return paths.home + "/onboard.json"; }

}  // namespace

std::string HomePorts::state_path() const { return state_path_of(parts_.probe.paths); }

Result<WizardState> HomePorts::load() {
  const Result<std::string> text = os::read_file(state_path(), kMaxStateBytes);
  if (!text) return fail(text.error());
  const Result<json::Value> value = json::parse(*text);
  const auto step = value ? step_from_name(value->string_or("step")) : std::nullopt;
  if (!step) return fail(Code::kInvalidArgument, "{} is not what the wizard writes", state_path());
  return WizardState{.step = *step, .backend = value->string_or("backend")};
}

Result<> HomePorts::save(WizardState state) {
  const json::Value value =
      json::Value::object({{"v", 1}, {"step", step_name(state.step)}, {"backend", state.backend}});
  return os::write_file_atomic(state_path(), json::write(value) + "\n", kPrivate);
}

Result<> HomePorts::set_config(std::string_view key, std::string_view value) {
  const std::string& path = parts_.probe.paths.config;
  const Result<std::string> text = os::read_file(path, kMaxConfigBytes);
  if (!text && text.error().code != Code::kNotFound) return fail(text.error());
  const Result<std::string> edited = config::set_toml_text(text.value_or(""), key, value, path);
  if (!edited) return fail(edited.error());
  struct stat info{};
  const mode_t mode = ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : kPrivate;
  return os::write_file_atomic(path, *edited, mode);
}

Task<Result<crypto::Secret>> HomePorts::ask_secret(std::string prompt) {
  co_return co_await cli::read_secret(parts_.probe.poller, STDIN_FILENO, std::move(prompt), parts_.output,
                                      parts_.stop);
}

Task<Result<>> HomePorts::keep_secret(std::string name, crypto::Secret value) {
  const Result<config::Config> config = parts_.configuration();
  if (!config) co_return fail(config.error());
  const config::Settings& settings = config->settings();
  runtime::Pool pool(parts_.probe.loop, 1);
  security::FileVault vault(parts_.probe.paths.home, settings.secrets.master_key, pool,
                            parts_.probe.loop.clock());
  const Scope scope = security::owner_principal(settings.gateway.user_id).scope();
  co_return co_await vault.set(scope, std::move(name), std::move(value));
}

Task<Result<std::vector<std::string>>> HomePorts::models() {
  const Result<config::Config> config = parts_.configuration();
  if (!config) co_return fail(config.error());
  co_return co_await list_models(parts_.probe, config->settings(), parts_.stop);
}

Task<Result<>> HomePorts::fetch_local_model() { co_return co_await parts_.fetch_local_model(); }

Task<Result<std::string>> HomePorts::test_call() {
  const Result<config::Config> config = parts_.configuration();
  if (!config) co_return fail(config.error());
  co_return co_await say_hello(parts_.probe, config->settings(), parts_.stop);
}

bool was_onboarded(const Paths& paths) { return ::access(state_path_of(paths).c_str(), F_OK) == 0; }

bool is_configured(const config::Config& config, const Paths& paths) {
  if (::access(paths.config.c_str(), F_OK) == 0) return true;
  for (const std::string_view key :
       {"llm.backend", "llm.base_url", "llm.unix_socket", "llm.model", "openai.api_key"}) {
    const Result<config::Explained> found = config.explain(key);
    if (found && found->layer != config::Layer::kDefault) return true;
  }
  return false;
}

}  // namespace chela::app
