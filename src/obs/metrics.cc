#include "obs/metrics.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"

#include <fmt/format.h>

namespace chela::obs {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '"')
      out += "\\\"";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

// {a="1",le="0.5"}, or nothing
std::string label_text(const Labels& labels, std::string_view bound = {}) {
  std::string out;
  for (const auto& [key, value] : labels)
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", key, escaped(value));
  if (!bound.empty()) out += fmt::format("{}le=\"{}\"", out.empty() ? "" : ",", bound);
  return out.empty() ? out : "{" + out + "}";
}

void head(std::string& out, std::string_view name, std::string_view help, std::string_view type) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(help), name, type);
}

void render_histogram(std::string& out, const std::string& name, const Labels& labels,
                      const Histogram& histogram) {
  std::uint64_t below = 0;
  for (size_t i = 0; i < histogram.bounds().size(); ++i) {
    below += histogram.bucket(i);
    out += fmt::format("{}_bucket{} {}\n", name, label_text(labels, fmt::format("{}", histogram.bounds()[i])),
                       below);
  }
  // The sum of the buckets read here, so that one scrape never contradicts itself while others count.
  below += histogram.bucket(histogram.bounds().size());
  out += fmt::format("{}_bucket{} {}\n", name, label_text(labels, "+Inf"), below);
  out += fmt::format("{}_sum{} {}\n{}_count{} {}\n", name, label_text(labels), histogram.sum(), name,
                     label_text(labels), below);
}

}  // namespace

void Gauge::add(double amount) {
  double before = value_.load(std::memory_order_relaxed);
  while (!value_.compare_exchange_weak(before, before + amount, std::memory_order_relaxed)) {
  }
}

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), buckets_(bounds_.size() + 1) {
  CHELA_CHECK(std::is_sorted(bounds_.begin(), bounds_.end()), "the bounds of a histogram rise");
}

void Histogram::observe(double value) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  buckets_[static_cast<size_t>(at - bounds_.begin())].add();
  sum_.add(value);
}

std::uint64_t Histogram::count() const {
  std::uint64_t all = 0;
  for (const Counter& bucket : buckets_) all += bucket.value();
  return all;
}

const std::vector<double>& latency_bounds() {
  static const std::vector<double> bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                          0.5,   1,      2.5,   5,    10,    30,   60};
  return bounds;
}

template <class M, class Make>
M& Metrics::series(Families<M>& families, std::string_view name, std::string_view help, Labels labels,
                   const Make& make) {
  std::sort(labels.begin(), labels.end());
  const std::lock_guard lock(mutex_);
  auto family = families.find(name);
  if (family == families.end())
    family = families.emplace(std::string(name), Family<M>{.help = std::string(help), .series = {}}).first;
  auto& all = family->second.series;
  if (!all.contains(labels) && all.size() >= kMaxMetricSeries) {
    for (auto& [key, value] : labels) value = "other";
  }
  std::unique_ptr<M>& slot = all[std::move(labels)];
  if (!slot) slot = make();
  return *slot;
}

Counter& Metrics::counter(std::string_view name, std::string_view help, Labels labels) {
  return series(counters_, name, help, std::move(labels), [] { return std::make_unique<Counter>(); });
}

Gauge& Metrics::gauge(std::string_view name, std::string_view help, Labels labels) {
  return series(gauges_, name, help, std::move(labels), [] { return std::make_unique<Gauge>(); });
}

Histogram& Metrics::histogram(std::string_view name, std::string_view help, Labels labels,
                              const std::vector<double>& bounds) {
  return series(histograms_, name, help, std::move(labels),
                [&bounds] { return std::make_unique<Histogram>(bounds); });
}

std::string Metrics::render() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [name, family] : counters_) {
    head(out, name, family.help, "counter");
    for (const auto& [labels, counter] : family.series)
      out += fmt::format("{}{} {}\n", name, label_text(labels), counter->value());
  }
  for (const auto& [name, family] : gauges_) {
    head(out, name, family.help, "gauge");
    for (const auto& [labels, gauge] : family.series)
      out += fmt::format("{}{} {}\n", name, label_text(labels), gauge->value());
  }
  for (const auto& [name, family] : histograms_) {
    head(out, name, family.help, "histogram");
    for (const auto& [labels, histogram] : family.series) render_histogram(out, name, labels, *histogram);
  }
  return out;
}

}  // namespace chela::obs
