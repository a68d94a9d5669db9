// The store alone: opening a database, appends to the turn log at several concurrencies, the read a turn needs, full-text search.
// Prints one JSON object. Usage: bench_store [--seconds N] [--dir DIR]

#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "base/strings.h"
#include "bench/arguments.h"
#include "bench/disk.h"
#include "bench/statistics.h"
#include "runtime/asio_loop.h"
#include "runtime/pool.h"
#include "runtime/task_group.h"
#include "store/sqlite/database.h"

namespace chela::bench {
namespace {

using Clock = std::chrono::steady_clock;
using json::Value;
using store::sqlite::Database;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

template <class T>
T must(Result<T> result) {
  CHELA_CHECK(result, result.error().text());
  return std::move(*result);
}

struct Run {
  store::TurnLogStore& log;
  Clock::time_point end;
  std::vector<double> latencies = {};
};

std::string thread_id(int number) { return fmt::format("0190a000-0000-7000-8000-{:012}", number); }

Scope scope_of(int number) {
  return {.realm = "default", .user = fmt::format("user{}", number % 10), .agent = "default"};
}

Task<> conversation(Run& run, int number) {
  const Scope scope = scope_of(number);
  const std::string thread = thread_id(number);
  must(co_await run.log.ensure_thread(
      {.id = thread, .scope = scope, .channel = "gateway", .external_thread = thread}));
  while (Clock::now() < run.end) {
    store::AppendRequest request{.scope = scope, .thread = thread};
    request.records.push_back({.turn = thread, .kind = "TurnStarted", .body = std::string(600, 'b')});
    const auto start = Clock::now();
    must(co_await run.log.append(std::move(request)));
    run.latencies.push_back(ms_since(start));
  }
}

Task<> reads(store::TurnLogStore& log, int count, std::vector<double>& latencies) {
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    must(co_await log.thread(scope_of(0), thread_id(0)));
    latencies.push_back(ms_since(start));
  }
}

Value measure_log(const std::string& folder, int concurrency, double seconds) {
  const std::string path = fmt::format("{}/store{}.db", folder, concurrency);
  runtime::AsioLoop loop;
  runtime::Pool pool(loop, 2);
  const std::size_t before = resident_bytes();
  const auto creating = Clock::now();
  std::unique_ptr<Database> db = must(Database::open(path, loop, pool));
  const double create_ms = ms_since(creating);
  db.reset();
  const auto opening = Clock::now();
  db = must(Database::open(path, loop, pool));
  Value out = Value::object({{"concurrency", concurrency},
                             {"create_ms", create_ms},
                             {"open_ms", ms_since(opening)},
                             {"resident_more", resident_bytes() - before}});
  const auto duration =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
  Run run{.log = db->turn_log(), .end = Clock::now() + duration};
  const std::clock_t cpu = std::clock();
  runtime::TaskGroup group(loop);
  for (int i = 0; i < concurrency; ++i) group.spawn(conversation(run, i));
  runtime::block_on(loop, group.join());
  const auto appends = static_cast<double>(run.latencies.size());
  out.set("appends_per_second", appends / seconds);
  out.set("cpu_us_per_append", 1e6 * static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC / appends);
  out.set("append", summary(std::move(run.latencies)));
  std::vector<double> read_times;
  runtime::block_on(loop, reads(db->turn_log(), 5000, read_times));
  out.set("read", summary(std::move(read_times)));
  return out;
}

std::vector<std::string> lines_of(const std::string& content) {
  std::vector<std::string> lines;
  for (const std::string_view line : strings::split(content, '\n')) lines.emplace_back(line);
  return lines;
}

// 20,000 chunks of one user: every one has "common", every hundredth "seldom".
Value measure_search() {
  runtime::AsioLoop loop;
  const std::unique_ptr<Database> db = must(Database::open_in_memory(loop));
  const Scope scope{.realm = "default", .user = "user", .agent = ""};
  for (int d = 0; d < 200; ++d) {
    std::string content;
    for (int c = 0; c < 100; ++c)
      content += fmt::format("{}a chunk of common words {} with some more text to fill it up{}",
                             c == 0 ? "" : "\n", c, c == 7 ? " seldom" : "");
    must(runtime::block_on(
        loop, db->memory().write(
                  scope, {.id = fmt::format("{}", d), .path = fmt::format("{}.md", d), .content = content},
                  &lines_of)));
  }
  Value out = Value::object({{"chunks", 20'000}});
  for (const char* term : {"common", "seldom"}) {
    std::vector<double> times;
    for (int i = 0; i < 50; ++i) {
      const auto start = Clock::now();
      const auto hits = must(runtime::block_on(loop, db->memory().search_text(scope, {term}, 10)));
      CHELA_CHECK(hits.size() == 10, "the search found too little");
      times.push_back(ms_since(start));
    }
    out.set(term, summary(std::move(times)));
  }
  return out;
}

int run(double seconds, const std::string& folder) {
  Value out = Value::object({{"benchmark", "store"}});
  out.set("fdatasync", measure_fdatasync(folder));
  Value log;
  for (const int concurrency : {1, 32, 100, 1000}) log.push_back(measure_log(folder, concurrency, seconds));
  out.set("log", std::move(log));
  out.set("search", measure_search());
  std::printf("%s\n", json::write_pretty(out).c_str());
  return 0;
}

}  // namespace
}  // namespace chela::bench

int main(int argc, char** argv) {
  const chela::bench::Arguments arguments(argc, argv);
  return chela::bench::run(arguments.seconds, arguments.folder);
}
