#include "app/bus_host.h"

#include "base/check.h"
#include "store/sqlite/records.h"

namespace chela::app {
namespace {

constexpr std::string_view kEntriesHelp = "Entries of the tables of the bus";
constexpr std::string_view kModuleHelp = "What modules of the bus have, by module";
constexpr auto kGrace = std::chrono::seconds(2);  // for connections to take what is left

}  // namespace

BusHost::BusHost(Parts parts, Options options)
    : parts_{.loop = parts.loop,
             .bus = bus_,
             .channels = channels_,
             .metrics = parts.metrics,
             .ids = parts.ids,
             .pool = parts.pool,
             .poller = parts.poller,
             .http = parts.http,
             .authenticate = std::move(options.authenticate),
             .directory = std::move(options.directory),
             .restore_rights = std::move(parts.restore_rights),
             .open_records = store::sqlite::records_opener(parts.loop, parts.pool)},
      advice_(std::move(options.advice)),
      loop_(parts.loop),
      metrics_(parts.metrics),
      bus_({.loop = parts.loop, .ids = parts.ids, .metrics = parts.metrics},
           {.call_timeout = options.call_timeout}),
      channels_(parts.loop, parts.ids, parts.metrics),
      channel_server_(parts.loop, channels_) {
  const Result<> added = channels_.add_to(bus_);
  CHELA_CHECK(added.has_value(), "a new bus has no channels");
}

Result<> BusHost::load(const std::vector<bus::ModuleKind>& kinds,
                       const std::vector<bus::ModuleConfig>& wanted) {
  const auto make = [this](const bus::ModuleKind& kind, const json::Value& config) {
    return kind.make(parts_, config);
  };
  Result<bus::ModuleSet> modules = bus::ModuleSet::make(make, kinds, wanted);
  if (!modules) return fail(modules.error());
  modules_ = std::move(*modules);
  return {};
}

void BusHost::add_listener(bus::ServerOptions options) {
  options.beside = [this](std::shared_ptr<net::Exchange> exchange) {
    return channel_server_.serve(std::move(exchange));
  };
  options.measure = [this] { measure(); };
  servers_.push_back(std::make_unique<bus::Server>(loop_, bus_, metrics_, std::move(options)));
}

Task<Result<>> BusHost::start() {
  if (Result<> started = co_await modules_.start(); !started) co_return started;
  for (const std::unique_ptr<bus::Server>& server : servers_) {
    if (Result<> listening = server->listen(); !listening) {
      Error error = listening.error();
      error.message = fmt::format("{}; {}", error.message, advice_);
      co_return fail(std::move(error));
    }
  }
  modules_.opened();
  co_return Result<>{};
}

// Modules end while their workers are still there to be heard.
Task<> BusHost::stop() {
  co_await modules_.stop();
  co_await bus_.stop();
  for (const std::unique_ptr<bus::Server>& server : servers_) co_await server->stop(kGrace);
}

void BusHost::measure() {
  const auto set = [this](std::string_view table, size_t size) {
    metrics_.gauge("chela_bus_entries", kEntriesHelp, {{"table", std::string(table)}})
        .set(static_cast<double>(size));
  };
  for (const auto& [table, size] : bus_.tables()) set(table, size);
  size_t connections = 0;
  for (const std::unique_ptr<bus::Server>& server : servers_) connections += server->connections();
  set("connections", connections);
  const json::Value modules = modules_.status();
  for (const auto& [module, status] : *modules.as_object()) {
    for (const auto& [what, value] : *status.as_object()) {
      const std::optional<std::int64_t> size = value.as_int();
      if (!size || what == "port") continue;
      metrics_.gauge("chela_bus_module", kModuleHelp, {{"module", module}, {"what", what}})
          .set(static_cast<double>(*size));
    }
  }
}

std::map<std::string, int> BusHost::ports() const {
  std::map<std::string, int> all;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i]->port() != 0) all[i == 0 ? "bus" : fmt::format("bus{}", i + 1)] = servers_[i]->port();
  }
  const json::Value modules = modules_.status();
  for (const auto& [name, status] : *modules.as_object()) {
    const std::string_view plain = std::string_view(name).starts_with("iii-")
                                       ? std::string_view(name).substr(4)
                                       : std::string_view(name);
    if (const std::int64_t port = status.int_or("port", 0); port != 0)
      all[plain == "stream" ? "streams" : std::string(plain)] = static_cast<int>(port);
  }
  return all;
}

}  // namespace chela::app
