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

}  // namespace
}  // namespace chela::bus::observability
