#include "bus/adapter_config.h"
#include "bus/config_reader.h"
#include "bus/cron/cron.h"
#include "runtime/asio_loop.h"

namespace chela::bus::cron {
namespace {

constexpr std::string_view kFile = "cron.db";
constexpr std::int64_t kDayMs = 86'400'000;

Result<std::unique_ptr<Module>> make(ModuleParts& parts, const json::Value& config) {
  constexpr std::string_view kOwn[] = {"modules::cron::KvCronAdapter", "kv"};
  constexpr std::string_view kForeign[] = {"modules::cron::RedisCronAdapter", "redis"};
  ConfigReader reader("cron", config);
  constexpr std::string_view kMissed[] = {"skip", "once"};
  const Missed missed = reader.choice("missed_runs", kMissed) == "once" ? Missed::kOnce : Missed::kSkip;
  const Result<json::Value> adapter = adapter_config(reader, {.own = kOwn, .foreign = kForeign});
  if (!adapter) return fail(adapter.error());
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  ConfigReader store("cron: adapter: config", *adapter);
  constexpr std::string_view kMethods[] = {"in_memory", "file_based"};
  const bool durable = store.choice("store_method", kMethods) == "file_based";
  const std::string path = store.text("file_path", "cron_store");
  store.integer("save_interval_ms", 5000, 1, kDayMs);  // an upper bound: every time is written at once
  // One engine owns its jobs, so there are no locks that could run out; the keys must be right all the same.
  store.integer("lock_ttl_ms", 30'000, 1, kDayMs);
  store.text("lock_index", "cron_locks");
  if (const Result<> good = store.finish(); !good) return fail(good.error());
  OpenStore open;
  if (durable)
    open = [records = parts.open_records, file = parts.directory / path / kFile] { return records(file); };
  return std::make_unique<Cron>(
      CronParts{.loop = parts.loop, .bus = parts.bus, .metrics = parts.metrics, .open = std::move(open)},
      missed);
}

}  // namespace

ModuleKind kind() { return {.names = {"modules::cron::CronModule", "iii-cron"}, .make = make}; }

}  // namespace chela::bus::cron
