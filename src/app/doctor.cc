#include "app/doctor.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "app/catalog.h"
#include "app/checks.h"
#include "app/engine_file.h"
#include "app/probe.h"
#include "net/curl_client.h"
#include "os/fd.h"
#include "runtime/pool.h"
#include "runtime/stop_scope.h"

namespace chela::app {
namespace {

using cli::Check;
using Verdict = Check::Verdict;

// Whether a living process holds the home's lock. Looks for a moment only, and leaves the file as it is.
bool is_locked(const std::string& path) {
  const os::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Check check_engine(const EngineState& engine) {
  using Kind = EngineState::Kind;
  switch (engine.kind) {
    case Kind::kAlive:
      return {.name = "engine", .message = "it runs and answers: " + engine.text};
    case Kind::kSilent:
      return {
          .name = "engine",
          .verdict = Verdict::kFail,
          .message = "a process has this home but does not answer: " + engine.text,
          .next_step = "look into logs/chela.log, then end that process; a new engine takes up what it left"};
    case Kind::kStale:
      return {.name = "engine",
              .verdict = Verdict::kWarn,
              .message = "the last one ended without leaving: " + engine.text,
              .next_step = "start it again (chela run): it takes up what was left"};
    case Kind::kNone:
      break;
  }
  return {.name = "engine", .verdict = Verdict::kSkip, .message = "none runs with this home"};
}

Check check_config(const Patient& patient) {
  if (!patient.config)
    return {.name = "configuration",
            .verdict = Verdict::kFail,
            .message = patient.config.error().message,
            .next_step = "mend what is named; `chela config` explains every key"};
  const bool file = ::access(patient.config_path.c_str(), F_OK) == 0;
  return {.name = "configuration",
          .message = file ? patient.config_path : "no file; defaults and environment"};
}

std::string step_for(const Error& error, const config::LlmSettings& llm) {
  switch (error.code) {
    case Code::kUnauthenticated:
    case Code::kPermissionDenied:
      return "give it a key that is valid: chela onboard, or LLM_API_KEY";
    case Code::kNotFound:
      return fmt::format("check llm.base_url ({}): it should end like https://host/v1", llm.base_url);
    default:
      return fmt::format("check that {} can be reached from here, and a proxy if there is one",
                         provider_address(llm));
  }
}

// Asks for the list of models: that needs the way to the provider and the key, and costs nothing.
Task<Check> check_provider(Patient patient, net::HttpClient& http, std::stop_token stop) {
  const config::LlmSettings& llm = patient.config->settings().llm;
  const std::string where = provider_address(llm);
  const Result<std::vector<std::string>> models = co_await list_models({.loop = patient.loop,
                                                                        .poller = patient.poller,
                                                                        .http = http,
                                                                        .paths = patient.paths,
                                                                        .environment = patient.environment},
                                                                       patient.config->settings(), stop);
  if (!models)
    co_return Check{.name = "provider",
                    .verdict = Verdict::kFail,
                    .message = fmt::format("{}: {}", where, models.error().message),
                    .next_step = step_for(models.error(), llm)};
  if (!models->empty() && !llm.model.empty() &&
      std::find(models->begin(), models->end(), llm.model) == models->end())
    co_return Check{.name = "provider",
                    .verdict = Verdict::kWarn,
                    .message = fmt::format("{} answers, but does not list the model {}", where, llm.model),
                    .next_step = "choose one of `chela models list`, or go on if you know it is there"};
  co_return Check{
      .name = "provider",
      .message = fmt::format("{} answers, model {}", where, llm.model.empty() ? "its default" : llm.model)};
}

Task<Check> check_model(Patient patient, net::HttpClient& http, std::stop_token stop) {
  const Result<llm::ModelData> data = find_model_data(patient.environment, patient.paths.home);
  if (!data)
    co_return Check{.name = "model",
                    .verdict = Verdict::kFail,
                    .message = data.error().message,
                    .next_step = "mend that file"};
  const config::LlmSettings& llm = patient.config->settings().llm;
  if (llm.backend == config::LlmBackend::kLocal && answers_here(*data, llm.model))
    co_return check_model_files(patient.paths, data->catalog.find(llm.model));
  co_return co_await check_provider(patient, http, stop);
}

std::uint64_t allowed_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace

Task<EngineState> engine_state(runtime::AsioLoop& loop, net::HttpClient& http, Paths paths,
                               std::stop_token stop) {
  using Kind = EngineState::Kind;
  const Result<EngineFile> file = read_engine_file(paths.engine_file);
  const std::string text = file ? file->text() : file.error().message;
  if (file) {
    const runtime::StopScope limit(loop, stop, loop.clock().steady() + kProbeTimeout);
    const Result<net::HttpResponse> answer =
        co_await http.fetch({.url = "http://localhost/healthz", .unix_socket = file->socket}, limit.token());
    if (answer && answer->status == 200) co_return EngineState{.kind = Kind::kAlive, .text = text};
  }
  if (is_locked(paths.lock)) co_return EngineState{.kind = Kind::kSilent, .text = text};
  const bool left = file || file.error().code != Code::kNotFound;
  co_return EngineState{.kind = left ? Kind::kStale : Kind::kNone, .text = text};
}

Task<std::vector<Check>> examine(Patient patient, std::stop_token stop) {
  const std::unique_ptr<net::HttpClient> http = net::make_curl_client(patient.loop);
  runtime::Pool pool(patient.loop, 1);
  const Paths& paths = patient.paths;
  std::vector<Check> checks = check_installation(patient.environment);
  checks.push_back(check_home(paths));
  checks.push_back(check_disk(paths.home, free_bytes_at(paths.home)));
  checks.push_back(check_clock(paths, patient.loop.clock().now()));
  checks.push_back(check_config(patient));
  // A big database takes a while; the loop goes on meanwhile, so that Ctrl-C is heard.
  checks.push_back(
      (co_await pool.run([&paths]() -> Result<Check> { return check_database(paths); }))
          .value_or(
              Check{.name = "database", .verdict = Verdict::kSkip, .message = "there was no time to look"}));
  const EngineState engine = co_await engine_state(patient.loop, *http, paths, stop);
  checks.push_back(check_engine(engine));
  if (!patient.config) {
    for (const char* name :
         {"vault", "gateway port", "bus port", "http triggers port", "streams port", "open files", "model"})
      checks.push_back({.name = name, .verdict = Verdict::kSkip, .message = "the configuration comes first"});
    co_return checks;
  }
  const config::Settings& settings = patient.config->settings();
  checks.push_back(check_vault(paths, settings.secrets.master_key));
  if (engine.kind != EngineState::Kind::kAlive) {
    const config::GatewaySettings& gateway = settings.gateway;
    checks.push_back(check_port({"gateway", "gateway.port", gateway.enabled, gateway.host, gateway.port}));
    // The bus comes with the gateway.
    const config::BusSettings& bus = settings.bus;
    const bool listens = gateway.enabled && bus.enabled;
    checks.push_back(check_port({"bus", "bus.port", listens, bus.host, bus.port}));
    checks.push_back(check_port({"http triggers", "bus.http_port", listens, bus.host, bus.http_port}));
    checks.push_back(check_port({"streams", "bus.stream_port", listens, bus.host, bus.stream_port}));
  }
  checks.push_back(check_open_files(allowed_files(), settings.limits.connections));
  checks.push_back(co_await check_model(patient, *http, stop));
  co_return checks;
}

}  // namespace chela::app
