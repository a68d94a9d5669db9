#include "app/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "base/time.h"

namespace chela::app {
namespace {

// "2d 3h", "5m 7s": the two largest units.
std::string duration_text(std::int64_t seconds) {
  constexpr std::pair<std::int64_t, char> kUnits[]{{86'400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
  std::string out;
  int units = 0;
  for (const auto& [length, letter] : kUnits) {
    if (units == 0 && seconds < length && length > 1) continue;
    if (units == 2) break;
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", seconds / length, letter);
    seconds %= length;
    ++units;
  }
  return out;
}

std::string ports_text(const json::Value& status) {
  std::string out;
  const json::Value* ports = status.find("ports");
  if (!ports || !ports->is_object()) return out;
  for (const json::Member& each : *ports->as_object())
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", each.key, each.value.as_int().value_or(0));
  return out;
}

}  // namespace

std::int64_t memory_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  std::int64_t total = 0;
  std::int64_t resident = 0;
  if (!(file >> total >> resident)) return 0;
  return resident * ::sysconf(_SC_PAGESIZE);
}

void add_engine_status(json::Value& status, const json::Value& engine, const json::Value& threads,
                       std::int64_t memory) {
  for (const std::string_view key :
       {"pid", "version", "started_at", "uptime_secs", "socket", "ports", "backend", "model"}) {
    if (const json::Value* value = engine.find(key)) status.set(std::string(key), *value);
  }
  status.set("connections", engine.int_or("total_connections", 0));
  status.set("event_streams", engine.int_or("sse_connections", 0));
  if (const json::Value* list = threads.find("threads"); list && list->is_array())
    status.set("threads", list->as_array()->size());
  if (memory > 0) status.set("memory_bytes", memory);
}

std::string status_text(const json::Value& status) {
  std::string out;
  const auto row = [&out](std::string_view name, const std::string& text) {
    if (!text.empty()) out += fmt::format("{:<10} {}\n", name, text);
  };
  if (status.bool_or("running", false)) {
    row("engine", fmt::format("runs, pid {}, version {}, up {}", status.int_or("pid", 0),
                              status.string_or("version"), duration_text(status.int_or("uptime_secs", 0))));
    row("web page", status.string_or("web_page"));
    row("ports", ports_text(status));
    row("socket", status.string_or("socket"));
  } else {
    row("engine", "not running; chela run starts it");
    row("problem", status.string_or("problem"));
  }
  row("model", status.string_or("model"));
  row("backend", status.string_or("backend"));
  if (const json::Value* threads = status.find("threads")) {
    const std::int64_t count = threads->as_int().value_or(0);
    row("threads", fmt::format("{}{}", count >= kMaxCountedThreads ? "at least " : "", count));
    row("clients", fmt::format("{} connections, {} event streams", status.int_or("connections", 0),
                               status.int_or("event_streams", 0)));
  }
  if (const std::int64_t memory = status.int_or("memory_bytes", 0); memory > 0)
    row("memory", fmt::format("{:.1f} MiB", static_cast<double>(memory) / (1024 * 1024)));
  row("home", status.string_or("home"));
  row("config", status.string_or("config"));
  row("", status.string_or("config_error"));
  return out;
}

}  // namespace chela::app
