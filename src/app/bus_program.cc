#include "app/bus_program.h"

#include <unistd.h>

#include <csignal>

#include "app/bus_modules.h"
#include "app/engine_file.h"
#include "bus/engine/expand.h"
#include "bus/engine/gatekeeper.h"
#include "cli/commands.h"
#include "config/yaml.h"
#include "net/curl_client.h"
#include "obs/log.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/signals.h"
#include "runtime/sleep.h"
#include "runtime/task_group.h"

namespace chela::app {
namespace {

constexpr std::string_view kDefaultFile = "config.yaml";
constexpr size_t kPoolThreads = 4;
// After this the process ends whatever still hangs; children die with it.
constexpr auto kStopLimit = std::chrono::seconds(10);
// Callers of iii wait as long as they want: this only clears away what nobody waits for any more.
constexpr auto kCallTimeout = std::chrono::minutes(30);
constexpr auto kLookAgain = std::chrono::seconds(1);  // whether the file has changed
constexpr std::string_view kEverything = "*";

bool is_loopback(std::string_view host) {
  return host == "::1" || host == "localhost" || host.starts_with("127.");
}

// Without security in its file the engine has one user, who may do everything.
bus::Rights everybody() {
  return {.principal = {.realm = "default", .user = "default", .permissions = {std::string(kEverything)}}};
}

// Ports of modules have no rules of their own.
Task<Result<bus::Admission>> admit(bus::Visitor visitor) {
  if (const Result<> page = bus::check_page(visitor); !page) co_return fail(page.error());
  co_return bus::Admission{.rights = everybody()};
}

Task<Result<bus::Rights>> restore(op::Principal) { co_return everybody(); }

}  // namespace

int BusProgram::run() {
  environment_ = os::environment();
  file_changed();  // from now on
  Result<Read> config = read_config();
  if (!config) return cli::report_error(config.error(), output_);
  const std::vector<int> signals{SIGINT, SIGTERM, SIGHUP};
  os::block_signals(signals);
  std::signal(SIGPIPE, SIG_IGN);
  if (const Result<> started = log::start({.file = "", .terminal_level = log::Level::kInfo}); !started)
    return cli::report_error(started.error(), output_);
  Result<std::unique_ptr<os::Poller>> poller = os::Poller::create(loop_);
  if (!poller) return cli::report_error(poller.error(), output_);
  poller_ = std::move(*poller);
  const auto on_signal = [this](int number) {
    if (number == SIGHUP) {
      reload_asked_ = true;
    } else if (leaving_.stop_requested()) {
      ::_exit(exit_code(Code::kCancelled));  // asked twice: now
    } else {
      leaving_.request_stop();
    }
    woken_.request_stop();
  };
  Result<std::unique_ptr<os::SignalWatch>> watch = os::SignalWatch::create(*poller_, signals, on_signal);
  if (!watch) return cli::report_error(watch.error(), output_);
  const int code = runtime::block_on(loop_, serve(std::move(*config)));
  runtime::block_on(loop_, (*watch)->close());
  log::stop();
  return code;
}

std::filesystem::path BusProgram::file() const {
  return command_.config.empty() ? std::filesystem::path(kDefaultFile)
                                 : std::filesystem::path(command_.config);
}

Result<BusProgram::Read> BusProgram::read_config() const {
  if (command_.use_default)
    return Read{
        .config = {.listeners = {bus::ListenerConfig{}}, .modules = bus::ModuleSet::defaults(bus_modules())},
        .text = {}};
  const std::string path = file();
  const Result<std::string> text = os::read_file(path, config::kMaxYamlBytes);
  if (!text) {
    Error error = text.error();
    if (error.code == Code::kNotFound && command_.config.empty())
      error.message += "; name another file with --config, or start with --use-default-config";
    return fail(std::move(error));
  }
  const auto variable = [this](std::string_view name) -> std::optional<std::string> {
    const auto found = environment_.find(std::string(name));
    return found == environment_.end() ? std::nullopt : std::optional(found->second);
  };
  const Result<std::string> expanded = bus::expand(*text, path, variable);
  if (!expanded) return fail(expanded.error());
  const Result<json::Value> document = config::parse_yaml(*expanded, path);
  if (!document) return fail(document.error());
  Result<bus::EngineConfig> config = bus::read_engine_config(*document, path);
  if (!config) return fail(config.error());
  return Read{.config = std::move(*config), .text = *expanded};
}

// Since it was asked last. One that is gone for a moment, as editors do it, has not changed.
bool BusProgram::file_changed() {
  if (command_.use_default) return false;
  std::error_code ec;
  const auto written = std::filesystem::last_write_time(file(), ec);
  return !ec && std::exchange(seen_, written) != written;
}

struct BusProgram::Parts {
  runtime::Pool pool;
  runtime::RandomIdSource ids;
  obs::Metrics metrics;
  std::unique_ptr<net::HttpClient> http;
};

struct BusProgram::Running {
  Running(BusHost::Parts parts, BusHost::Options options) : host(std::move(parts), std::move(options)) {}

  std::vector<std::unique_ptr<bus::Gatekeeper>> gates;  // they outlive the host's servers
  BusHost host;
};

Result<std::unique_ptr<BusProgram::Running>> BusProgram::make(Parts& parts, const bus::EngineConfig& config) {
  auto running =
      std::make_unique<Running>(BusHost::Parts{.loop = loop_,
                                               .poller = *poller_,
                                               .pool = parts.pool,
                                               .ids = parts.ids,
                                               .metrics = parts.metrics,
                                               .http = *parts.http,
                                               .restore_rights = restore},
                                BusHost::Options{.call_timeout = kCallTimeout,
                                                 .authenticate = admit,
                                                 .directory = std::filesystem::current_path(),
                                                 .advice = "give another port in the configuration"});
  if (const Result<> loaded = running->host.load(bus_modules(), config.modules); !loaded)
    return fail(loaded.error());
  for (const bus::ListenerConfig& each : config.listeners) {
    if (!each.rbac && !is_loopback(each.host))
      log::warn("app", "whoever reaches this port may call everything: its configuration has no rbac",
                {{"host", each.host}, {"port", each.port}});
    running->gates.push_back(std::make_unique<bus::Gatekeeper>(running->host.bus(), each, everybody()));
    running->host.add_listener(
        {.host = each.host,
         .port = each.port,
         .authenticate = [gate = running->gates.back().get()](
                             bus::Visitor visitor) { return gate->admit(std::move(visitor)); },
         .refusal = bus::ServerOptions::Refusal::kFrame,
         .handshake_timeout = each.handshake_timeout});
  }
  return running;
}

Task<int> BusProgram::serve(Read read) {
  Parts parts{.pool = {loop_, kPoolThreads},
              .ids = runtime::RandomIdSource(loop_.clock()),
              .metrics = {},
              .http = net::make_curl_client(loop_)};
  Result<std::unique_ptr<Running>> running = make(parts, read.config);
  if (!running) co_return cli::report_error(running.error(), output_);
  if (const Result<> started = co_await start((*running)->host); !started) {
    co_await stop((*running)->host);
    co_return cli::report_error(started.error(), output_);
  }
  while (co_await wait() == Wake::kReload) {
    running = co_await reload(parts, std::move(*running), read);
    if (!running) co_return cli::report_error(running.error(), output_);
  }
  if (!command_.announce.empty()) std::remove(command_.announce.c_str());
  co_await stop((*running)->host);
  co_return 0;
}

Task<> BusProgram::stop(BusHost& host) {
  const runtime::TimerId limit = loop_.call_at(loop_.clock().steady() + kStopLimit, [] {
    log::error("app", "something does not stop; ending without it");
    log::stop();
    ::_exit(exit_code(Code::kTimeout));
  });
  co_await host.stop();
  loop_.cancel(limit);
}

Task<BusProgram::Wake> BusProgram::wait() {
  for (;;) {
    if (leaving_.stop_requested()) co_return Wake::kLeave;
    if (std::exchange(reload_asked_, false)) {
      file_changed();  // this one is read now
      co_return Wake::kReload;
    }
    if (file_changed()) co_return Wake::kReload;
    woken_ = std::stop_source();
    const Result<> slept = co_await runtime::sleep_for(loop_, kLookAgain, woken_.get_token());
    if (!slept) continue;
  }
}

// All of the bus begins anew: one port and one set of functions belong to one configuration. What cannot be started leaves the one that
// was there; an error when that cannot be started either.
Task<Result<std::unique_ptr<BusProgram::Running>>> BusProgram::reload(Parts& parts,
                                                                      std::unique_ptr<Running> running,
                                                                      Read& current) {
  const auto keep = [](const Error& error) {
    log::error("app", "the configuration cannot be used; the engine goes on with the one it has",
               {{"error", error.message}});
  };
  Result<Read> read = read_config();
  if (!read) {
    keep(read.error());
    co_return running;
  }
  if (read->text == current.text) {
    log::info("app", "the configuration is what it was");
    co_return running;
  }
  Result<std::unique_ptr<Running>> next = make(parts, read->config);
  if (!next) {
    keep(next.error());
    co_return running;
  }
  log::info("app", "the configuration has changed: the bus begins anew, workers connect again");
  co_await stop(running->host);
  running.reset();
  const Result<> started = co_await start((*next)->host);
  if (started) {
    current = std::move(*read);
    co_return next;
  }
  keep(started.error());
  co_await stop((*next)->host);
  next = make(parts, current.config);
  if (!next) co_return fail(next.error());
  if (const Result<> again = co_await start((*next)->host); !again) {
    co_await stop((*next)->host);
    co_return fail(again.error());
  }
  co_return next;
}

Task<Result<>> BusProgram::start(BusHost& host) {
  if (Result<> started = co_await host.start(); !started) co_return started;
  const EngineFile file{.pid = ::getpid(),
                        .version = CHELA_VERSION,
                        .started_at = loop_.clock().now(),
                        .socket = {},
                        .ports = host.ports()};
  if (!command_.announce.empty()) {
    if (Result<> told = write_engine_file(command_.announce, file); !told) co_return told;
  }
  log::info("app", "the bus is ready: " + file.text(), {{"version", CHELA_VERSION}});
  co_return Result<>{};
}

}  // namespace chela::app
