#include "obs/metrics.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/limits.h"

namespace chela::obs {
namespace {

TEST(Metrics, RendersWhatPrometheusReads) {
  Metrics metrics;
  metrics.counter("chela_turns_total", "Turns that ended.", {{"state", "ok"}}).add(2);
  metrics.counter("chela_turns_total", "Turns that ended.", {{"state", "a\"b\\c\n"}}).add();
  metrics.gauge("chela_threads", "Running.").set(1.5);
  metrics.gauge("chela_threads", "Running.").add(-3);
  Histogram& histogram = metrics.histogram("chela_wait_seconds", "Waiting.", {{"k", "v"}}, {0.1, 1});
  for (const double value : {0.05, 0.1, 0.5, 7.0}) histogram.observe(value);
  EXPECT_EQ(histogram.count(), 4u);
  EXPECT_EQ(metrics.render(),
            "# HELP chela_turns_total Turns that ended.\n"
            "# TYPE chela_turns_total counter\n"
            "chela_turns_total{state=\"a\\\"b\\\\c\\n\"} 1\n"
            "chela_turns_total{state=\"ok\"} 2\n"
            "# HELP chela_threads Running.\n"
            "# TYPE chela_threads gauge\n"
            "chela_threads -1.5\n"
            "# HELP chela_wait_seconds Waiting.\n"
            "# TYPE chela_wait_seconds histogram\n"
            "chela_wait_seconds_bucket{k=\"v\",le=\"0.1\"} 2\n"
            "chela_wait_seconds_bucket{k=\"v\",le=\"1\"} 3\n"
            "chela_wait_seconds_bucket{k=\"v\",le=\"+Inf\"} 4\n"
            "chela_wait_seconds_sum{k=\"v\"} 7.65\n"
            "chela_wait_seconds_count{k=\"v\"} 4\n");
}

TEST(Metrics, LabelOrderMakesNoNewSeries) {
  Metrics metrics;
  Counter& one = metrics.counter("c", "h", {{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(&one, &metrics.counter("c", "h", {{"b", "2"}, {"a", "1"}}));
}

TEST(Metrics, SeriesAreBounded) {
  Metrics metrics;
  for (size_t i = 0; i < kMaxMetricSeries + 10; ++i)
    metrics.counter("c", "h", {{"user", std::to_string(i)}}).add();
  EXPECT_EQ(metrics.counter("c", "h", {{"user", "other"}}).value(), 10u);
  EXPECT_EQ(metrics.counter("c", "h", {{"user", "0"}}).value(), 1u);
}

TEST(Metrics, CountsFromSeveralThreads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&metrics] {
      for (int i = 0; i < 1000; ++i) {
        metrics.counter("c", "h").add();
        metrics.gauge("g", "h").add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(metrics.counter("c", "h").value(), 4000u);
  EXPECT_EQ(metrics.gauge("g", "h").value(), 4000);
}

}  // namespace
}  // namespace chela::obs
