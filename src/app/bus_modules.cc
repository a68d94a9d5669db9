#include "app/bus_modules.h"

#include "bus/bridge/bridge_module.h"
#include "bus/cron/cron.h"
#include "bus/exec/exec.h"
#include "bus/http/http_module.h"
#include "bus/http_functions/http_functions.h"
#include "bus/kv/kv.h"
#include "bus/observability/observability.h"
#include "bus/pubsub/pubsub.h"
#include "bus/queue/queue_module.h"
#include "bus/standing/standing.h"
#include "bus/state/state.h"
#include "bus/stream/stream.h"

namespace chela::app {

namespace {

// What lives as long as the home does: a folder of its own below the bus's.
json::Value kept_in(std::string_view folder) {
  return json::Value::object({{"store_method", "file_based"}, {"file_path", folder}});
}

json::Value adapter(std::string_view name, json::Value config) {
  return json::Value::object(
      {{"adapter", json::Value::object({{"name", name}, {"config", std::move(config)}})}});
}

}  // namespace

std::vector<bus::ModuleKind> bus_modules() {
  return {bus::http::kind(),   bus::http_functions::kind(), bus::pubsub::kind(),        bus::state::kind(),
          bus::stream::kind(), bus::queue::kind(),          bus::cron::kind(),          bus::kv::kind(),
          bus::exec::kind(),   bus::standing::kind(),       bus::observability::kind(), bus::bridge::kind()};
}

std::vector<bus::ModuleConfig> modules_of_run(const config::BusSettings& settings) {
  json::Value http = json::Value::object({{"host", settings.host}, {"port", settings.http_port}});
  json::Value streams = adapter("kv", kept_in("streams"));
  streams.set("host", settings.host);
  streams.set("port", settings.stream_port);
  return {{.name = "engine::triggers", .config = json::Value::object({{"file_path", "triggers"}})},
          {.name = "iii-http", .config = std::move(http)},
          {.name = "iii-pubsub", .config = {}},
          {.name = "iii-state", .config = adapter("kv", kept_in("state"))},
          {.name = "iii-stream", .config = std::move(streams)},
          {.name = "iii-queue", .config = adapter("builtin", kept_in("queue"))},
          {.name = "iii-cron", .config = adapter("kv", kept_in("cron"))},
          {.name = "modules::kv_server::KvServer", .config = kept_in("kv")},
          {.name = "iii-observability", .config = {}}};
}

}  // namespace chela::app
