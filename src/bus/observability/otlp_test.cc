#include "bus/observability/otlp.h"

#include <gtest/gtest.h>

#include "bus/observability/limits.h"

namespace chela::bus::observability {
namespace {

TEST(ObservabilityFrames, AreReadUpToALimitAndNonsenseIsAnError) {
  std::string many = R"(LOGS{"resourceLogs": [{"scopeLogs": [{"logRecords": [)";
  for (size_t i = 0; i < kMaxFrameItems + 3; ++i) many += i == 0 ? "{}" : ",{}";
  const Result<Measured> read = read_frame(many + "]}]}]}");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->logs.size(), kMaxFrameItems);
  EXPECT_EQ(read->left_out, 3u);
  for (const char* frame : {"", "OTL", "WHAT{}", "OTLP{", "OTLP"}) EXPECT_FALSE(read_frame(frame)) << frame;
  for (const char* frame :
       {"OTLP[]", "OTLP{\"resourceSpans\": 7}", "MTRC{\"resourceMetrics\": [7, {\"scopeMetrics\": {}}]}"})
    EXPECT_TRUE(read_frame(frame)) << frame;
}

TEST(ObservabilityFrames, HaveSoManyAttributes) {
  std::string pairs;
  for (size_t i = 0; i <= kMaxAttributes; ++i)
    pairs += fmt::format(R"({}{{"key": "k{}", "value": {{"intValue": "1"}}}})", i == 0 ? "" : ",", i);
  const Result<Measured> read = read_frame(fmt::format(
      R"(LOGS{{"resourceLogs": [{{"scopeLogs": [{{"logRecords": [{{"attributes": [{}]}}]}}]}}]}})", pairs));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->logs.at(0).find("attributes")->as_object()->size(), kMaxAttributes);
}

}  // namespace
}  // namespace chela::bus::observability
