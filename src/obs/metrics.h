#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chela::obs {

// Counts up.
class Counter {
 public:
  void add(std::uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

// Goes up and down.
class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double amount);
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

// Counts observations below each bound.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);
  const std::vector<double>& bounds() const { return bounds_; }
  std::uint64_t count() const;
  double sum() const { return sum_.value(); }
  std::uint64_t bucket(size_t index) const {
    return buckets_[index].value();
  }  // not cumulative; the last is above all bounds

 private:
  std::vector<double> bounds_;
  std::vector<Counter> buckets_;
  Gauge sum_;
};

using Labels = std::vector<std::pair<std::string, std::string>>;

// Upper bounds in seconds for latencies, 1 ms to 60 s.
const std::vector<double>& latency_bounds();

// All metrics of one engine; handed to whoever counts. The references it gives live as long as it does. Thread-safe: look a
// metric up once and keep it where the path is hot. A name past kMaxMetricSeries label sets counts further ones together as "other".
class Metrics {
 public:
  Counter& counter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, Labels labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, Labels labels = {},
                       const std::vector<double>& bounds = latency_bounds());

  // Prometheus text format 0.0.4, families and series in a fixed order.
  std::string render() const;

 private:
  template <class M>
  struct Family {
    std::string help;
    std::map<Labels, std::unique_ptr<M>> series;
  };
  template <class M>
  using Families = std::map<std::string, Family<M>, std::less<>>;

  template <class M, class Make>
  M& series(Families<M>& families, std::string_view name, std::string_view help, Labels labels,
            const Make& make);

  mutable std::mutex mutex_;
  Families<Counter> counters_;
  Families<Gauge> gauges_;
  Families<Histogram> histograms_;
};

}  // namespace chela::obs
