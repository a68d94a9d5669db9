#pragma once

#include <chrono>
#include <cstdio>
#include <exception>
#include <vector>

#include "bench/connection.h"
#include "bench/statistics.h"

namespace chela::bench {

// The book-keeping of a closed loop: C slots, each of which begins anew when it is through, until the time is over.
class ClosedLoop {
 public:
  using Clock = std::chrono::steady_clock;

  ClosedLoop(size_t slots, double seconds)
      : open_(slots),
        begun_(slots),
        start_(Clock::now()),
        end_(start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  void begin(size_t slot) { begun_.at(slot) = Clock::now(); }
  // Whether the slot begins anew.
  bool finish(size_t slot) {
    const Clock::time_point now = Clock::now();
    samples_.push_back(std::chrono::duration<double, std::milli>(now - begun_.at(slot)).count());
    if (now < end_) return true;
    --open_;
    return false;
  }
  bool goes_on() const { return open_ > 0; }

  // {"concurrency","calls","per_second","latency"}; each of `parts` things that a slot does counts as a call.
  json::Value result(size_t parts = 1) const {
    const std::chrono::duration<double> took = Clock::now() - start_;
    const size_t calls = samples_.size() * parts;
    return json::Value::object({{"concurrency", begun_.size()},
                                {"calls", calls},
                                {"per_second", static_cast<double>(calls) / took.count()},
                                {"latency", summary(samples_)}});
  }

 private:
  size_t open_;
  std::vector<Clock::time_point> begun_;
  std::vector<double> samples_;
  Clock::time_point start_;
  Clock::time_point end_;
};

// Runs a load, which gives its figures, and prints them. An answer that is an error, or none, ends the program with an error: no figure
// leaves anything out.
template <class Load>
int print_result(Load load) {
  try {
    std::printf("%s\n", json::write(load()).c_str());
    return 0;
  } catch (const std::exception& error) {
    die(error.what());
  }
}

}  // namespace chela::bench
