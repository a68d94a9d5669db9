// Turns of the engine with an instant model in the same process: durable turns per second and latency at several concurrencies, the engine's
// own time (memory instead of a disk), and memory over many turns. Prints one JSON object.
// Usage: bench_turn [--seconds N] [--turns N] [--dir DIR]

#include <cstdio>
#include <cstdlib>

#include "bench/arguments.h"
#include "bench/disk.h"
#include "bench/statistics.h"
#include "runtime/asio_loop.h"
#include "runtime/pool.h"
#include "runtime/task_group.h"
#include "testing/engine_parts.h"

namespace chela::bench {
namespace {

class InstantModel final : public llm::Provider {
 public:
  Task<Result<llm::Answer>> complete(llm::Request, llm::DeltaSink sink, std::optional<SteadyTime>,
                                     std::stop_token) override {
    sink({.text = "All right."});
    co_return llm::Answer{.text = "All right.",
                          .usage = {100, 3, 0},
                          .finish_reason = llm::FinishReason::kStop,
                          .model = "instant"};
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"instant"};
  }
};

// An engine on a database file, or in memory.
class Setup {
 public:
  explicit Setup(const std::string& path) {
    auto opened = path.empty() ? store::sqlite::Database::open_in_memory(loop_)
                               : store::sqlite::Database::open(path, loop_, pool_);
    if (!opened) {
      std::fprintf(stderr, "bench_turn: %s\n", opened.error().message.c_str());
      std::exit(1);
    }
    parts_ = std::make_unique<testing::EngineParts>(loop_, std::move(*opened), model_);
    parts_->start();
  }

  // `clients` clients, each with threads of its own of at most 20 turns, until `seconds` or `turns` are reached. Gives the latencies.
  std::vector<double> run(int clients, double seconds, long turns) {
    latencies_.clear();
    left_ = turns;
    end_ = std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
    runtime::TaskGroup group(loop_);
    for (int i = 0; i < clients; ++i) group.spawn(client(*this, i));
    runtime::block_on(loop_, group.join());
    return std::move(latencies_);
  }

 private:
  static Task<> client(Setup& self, int number) {
    const Scope scope{"default", fmt::format("user{}", number), ""};
    for (long i = 0; std::chrono::steady_clock::now() < self.end_ && self.left_-- > 0; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const auto accepted = co_await self.parts_->engine().send(
          {.scope = scope,
           .channel = "bench",
           .thread_id = {},
           .external_thread = fmt::format("thread{}-{}", self.run_, i / 20),
           .content = "Tell me that all is right."});
      if (!accepted) {
        std::fprintf(stderr, "bench_turn: %s\n", accepted.error().message.c_str());
        std::exit(1);
      }
      const auto outcome = co_await self.parts_->engine().wait(scope, accepted->turn_id, {});
      if (!outcome || outcome->state != agent::TurnState::kCompleted) {
        std::fprintf(stderr, "bench_turn: a turn did not complete\n");
        std::exit(1);
      }
      self.latencies_.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    ++self.run_;
  }

  runtime::AsioLoop loop_;
  runtime::Pool pool_{loop_, 4};
  InstantModel model_;
  std::unique_ptr<testing::EngineParts> parts_;
  std::vector<double> latencies_;
  std::chrono::steady_clock::time_point end_;
  long left_ = 0;
  int run_ = 0;
};

int run(double seconds, long turns, const std::string& folder) {
  json::Value out = json::Value::object({{"benchmark", "turn"}});
  out.set("fdatasync", measure_fdatasync(folder));
  json::Value durable;
  {
    const std::string file = folder + "/bench.db";
    Setup setup(file);
    for (const int clients : {1, 32, 100}) {
      const auto start = std::chrono::steady_clock::now();
      std::vector<double> latencies = setup.run(clients, seconds, LONG_MAX);
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      json::Value row = json::Value::object(
          {{"concurrency", clients}, {"turns_per_second", static_cast<double>(latencies.size()) / took}});
      row.set("latency", summary(std::move(latencies)));
      durable.push_back(std::move(row));
    }
  }
  out.set("durable", std::move(durable));
  {
    Setup setup("");
    out.set("engine_time", summary(setup.run(1, seconds, LONG_MAX)));
  }
  {
    const std::string file = folder + "/memory.db";
    Setup setup(file);
    setup.run(32, 1e9, turns);
    const std::size_t first = resident_bytes();
    setup.run(32, 1e9, turns);
    out.set("memory", json::Value::object({{"turns", turns},
                                           {"resident_after_first", first},
                                           {"resident_after_second", resident_bytes()}}));
  }
  std::printf("%s\n", json::write_pretty(out).c_str());
  return 0;
}

}  // namespace
}  // namespace chela::bench

int main(int argc, char** argv) {
  const chela::bench::Arguments arguments(argc, argv);
  return chela::bench::run(arguments.seconds, arguments.turns, arguments.folder);
}
