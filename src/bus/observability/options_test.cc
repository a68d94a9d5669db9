#include "bus/observability/options.h"

#include <gtest/gtest.h>

#include "bus/observability/limits.h"

namespace chela::bus::observability {
namespace {

TEST(ObservabilityOptions, RefuseExportersThatAreNotThere) {
  for (const char* config :
       {R"({"exporter": "otlp"})", R"({"exporter": "both"})", R"({"metrics_exporter": "otlp"})",
        R"({"logs_exporter": "both"})", R"({"endpoint": "http://localhost:4317"})", R"({"unknown": 1})",
        R"({"sampling_ratio": 2})", R"({"sampling": {"default": -1}})", R"({"logs_sampling_ratio": 2})",
        R"({"alerts": [{"name": "a"}]})",
        R"({"alerts": [{"name": "a", "metric": "m", "action": {"type": "webhook", "url": "no url"}}]})",
        R"({"alerts": [{"name": "a", "metric": "m", "action": {"type": "function"}}]})"}) {
    const Result<Options> options = read_options(*json::parse(config));
    EXPECT_FALSE(options) << config;
  }
  EXPECT_TRUE(read_options(*json::parse(R"({"exporter": "otlp"})")).error().message.contains("memory"));
  EXPECT_TRUE(read_options(*json::parse(R"({"enabled": true, "exporter": "memory", "service_name": "x"})")));
  for (const char* config :
       {R"({"level": "loud"})", R"({"format": "xml"})", R"({"trace_storage": {"directory": "d"}})",
        R"({"trace_storage": {"enabled": true}})", R"({"collapse_spans": ["call *"]})",
        R"({"alerts": [{"name": "a", "metric": "m", "operator": "more"}]})", R"({"logs_batch_size": 0})"})
    EXPECT_FALSE(read_options(*json::parse(config))) << config;
  EXPECT_TRUE(read_options(*json::parse(R"({"exporter": "memory", "endpoint": "http://localhost:4317"})")));
  std::string many = R"({"alerts": [)";
  for (size_t i = 0; i <= kMaxAlerts; ++i)
    many += fmt::format(R"({}{{"name": "a", "metric": "m"}})", i == 0 ? "" : ",");
  EXPECT_FALSE(read_options(*json::parse(many + "]}")));
  const auto window = [](int seconds) {
    return read_options(*json::parse(fmt::format(
        R"({{"alerts": [{{"name": "a", "metric": "m", "operator": ">", "window_seconds": {},
             "action": {{"type": "log"}}}}]}})",
        seconds)));
  };
  EXPECT_TRUE(window(kMaxAlertWindow));
  EXPECT_FALSE(window(kMaxAlertWindow + 1));
}

TEST(ObservabilityOptions, WhatNewerEnginesSayIsUnderstoodOrNamed) {
  const Result<Options> options = read_options(*json::parse(
      R"({"level": "WARN", "format": "json", "live_spans": false, "trace_storage": {"enabled": false},
          "collapse_spans": [], "logs_batch_size": 10, "logs_flush_interval_ms": 100,
          "alerts": [{"name": "a", "metric": "m", "operator": "lessthanorequal"}]})"));
  ASSERT_TRUE(options) << options.error().text();
  EXPECT_EQ(options->level, log::Level::kWarn);
  EXPECT_EQ(options->format, log::TerminalForm::kJson);
  EXPECT_FALSE(options->live_spans);
  EXPECT_EQ(options->alerts.at(0).comparison, "<=");
  ASSERT_EQ(options->without_effect.size(), 2u);
  EXPECT_TRUE(options->without_effect[0].starts_with("logs_batch_size: "));
  EXPECT_TRUE(read_options(*json::parse("{}"))->without_effect.empty());
}

}  // namespace
}  // namespace chela::bus::observability
