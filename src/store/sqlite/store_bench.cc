// Appends to the turn log at several concurrencies, the read a turn needs, and full-text search. Prints one JSON object a line.
//   store_bench FOLDER [CONCURRENCY...]

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/asio_loop.h"
#include "runtime/task_group.h"
#include "store/sqlite/database.h"

namespace chela::store::sqlite {
namespace {

using Clock = std::chrono::steady_clock;
using Millis = std::chrono::duration<double, std::milli>;

constexpr std::chrono::seconds kDuration(3);

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

// What the disk itself takes for 16 KiB more of a file.
void measure_disk(const std::string& folder) {
  const std::string path = folder + "/sync";
  const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  const std::string block(16 * 1024, 'x');
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    CHELA_CHECK(::write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size()),
                "cannot write to the folder");
    const auto start = Clock::now();
    ::fdatasync(fd);
    times.push_back(Millis(Clock::now() - start).count());
  }
  ::close(fd);
  ::unlink(path.c_str());
  fmt::print("{{\"fdatasync_ms\":{{\"p50\":{:.3f},\"p99\":{:.3f}}}}}\n", quantile(times, 0.5),
             quantile(times, 0.99));
}

long resident_kib() {
  long pages = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  CHELA_CHECK(file != nullptr && std::fscanf(file, "%ld %ld", &pages, &resident) == 2, "no /proc");
  std::fclose(file);
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

struct Run {
  TurnLogStore& log;
  Clock::time_point end;
  std::vector<double> latencies = {};
};

Task<> conversation(Run& run, int number) {
  const Scope scope{.realm = "default", .user = fmt::format("user{}", number % 10), .agent = "default"};
  const std::string thread = fmt::format("0190a000-0000-7000-8000-{:012}", number);
  const Result<ThreadRow> row = co_await run.log.ensure_thread(
      {.id = thread, .scope = scope, .channel = "gateway", .external_thread = thread});
  CHELA_CHECK(row, row.error().text());
  while (Clock::now() < run.end) {
    AppendRequest request{.scope = scope, .thread = thread};
    request.records.push_back({.turn = thread, .kind = "TurnStarted", .body = std::string(600, 'b')});
    const auto start = Clock::now();
    const Result<Appended> appended = co_await run.log.append(std::move(request));
    CHELA_CHECK(appended, appended.error().text());
    run.latencies.push_back(Millis(Clock::now() - start).count());
  }
}

Task<> reads(TurnLogStore& log, int count, std::vector<double>& latencies) {
  const Scope scope{.realm = "default", .user = "user0", .agent = "default"};
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    const Result<ThreadRow> row = co_await log.thread(scope, "0190a000-0000-7000-8000-000000000000");
    CHELA_CHECK(row, row.error().text());
    latencies.push_back(Millis(Clock::now() - start).count() * 1000);
  }
}

void measure(const std::string& folder, int concurrency) {
  const std::string path = fmt::format("{}/bench{}.db", folder, concurrency);
  for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
  runtime::AsioLoop loop;
  runtime::Pool pool(loop, 2);
  const long before_kib = resident_kib();
  const auto opening = Clock::now();
  Result<std::unique_ptr<Database>> db = Database::open(path, loop, pool);
  CHELA_CHECK(db, db.error().text());
  const double create_ms = Millis(Clock::now() - opening).count();
  db->reset();
  const auto reopening = Clock::now();
  db = Database::open(path, loop, pool);
  CHELA_CHECK(db, db.error().text());
  fmt::print("{{\"create_ms\":{:.1f},\"open_ms\":{:.1f},\"resident_kib_more\":{}}}\n", create_ms,
             Millis(Clock::now() - reopening).count(), resident_kib() - before_kib);
  Run run{.log = (*db)->turn_log(), .end = Clock::now() + kDuration};
  const std::clock_t cpu = std::clock();
  runtime::TaskGroup group(loop);
  for (int i = 0; i < concurrency; ++i) group.spawn(conversation(run, i));
  runtime::block_on(loop, group.join());
  const double cpu_us = 1e6 * static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC /
                        static_cast<double>(run.latencies.size());
  std::vector<double> read_us;
  runtime::block_on(loop, reads(run.log, 5000, read_us));
  fmt::print(
      "{{\"concurrency\":{},\"appends_per_s\":{:.0f},\"latency_ms\":{{\"p50\":{:.2f},\"p99\":{:.2f}}},\"cpu_"
      "us_per_append\":{:.1f},"
      "\"read_us\":{{\"p50\":{:.1f},\"p99\":{:.1f}}}}}\n",
      concurrency, static_cast<double>(run.latencies.size()) / kDuration.count(),
      quantile(run.latencies, 0.5), quantile(run.latencies, 0.99), cpu_us, quantile(read_us, 0.5),
      quantile(read_us, 0.99));
}

std::vector<std::string> lines_of(const std::string& content) {
  std::vector<std::string> lines;
  for (const std::string_view line : strings::split(content, '\n')) lines.emplace_back(line);
  return lines;
}

// 20,000 chunks of one user: every one has "common", every hundredth "seldom".
void measure_search() {
  runtime::AsioLoop loop;
  const std::unique_ptr<Database> db = Database::open_in_memory(loop).value();
  const Scope scope{.realm = "default", .user = "user", .agent = ""};
  for (int d = 0; d < 200; ++d) {
    std::string content;
    for (int c = 0; c < 100; ++c)
      content += fmt::format("{}a chunk of common words {} with some more text to fill it up{}",
                             c == 0 ? "" : "\n", c, c == 7 ? " seldom" : "");
    const auto written = runtime::block_on(
        loop, db->memory().write(
                  scope, {.id = fmt::format("{}", d), .path = fmt::format("{}.md", d), .content = content},
                  &lines_of));
    CHELA_CHECK(written, written.error().text());
  }
  for (const char* term : {"common", "seldom"}) {
    std::vector<double> times;
    for (int i = 0; i < 50; ++i) {
      const auto start = Clock::now();
      const auto hits = runtime::block_on(loop, db->memory().search_text(scope, {term}, 10));
      CHELA_CHECK(hits && hits->size() == 10, "the search found too little");
      times.push_back(Millis(Clock::now() - start).count());
    }
    fmt::print("{{\"search\":\"{}\",\"chunks\":20000,\"ms\":{{\"p50\":{:.2f},\"p99\":{:.2f}}}}}\n", term,
               quantile(times, 0.5), quantile(times, 0.99));
  }
}

}  // namespace
}  // namespace chela::store::sqlite

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: store_bench FOLDER [CONCURRENCY...]\n", stderr);
    return 2;
  }
  std::vector<int> concurrencies;
  for (int i = 2; i < argc; ++i) concurrencies.push_back(std::max(1, std::atoi(argv[i])));
  if (concurrencies.empty()) concurrencies = {1, 32, 100, 1000};
  chela::store::sqlite::measure_disk(argv[1]);
  for (const int concurrency : concurrencies) chela::store::sqlite::measure(argv[1], concurrency);
  chela::store::sqlite::measure_search();
  return 0;
}
