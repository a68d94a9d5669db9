#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

// What SDKs measure: OTLP as JSON, in frames of "OTLP" (spans), "MTRC" (points) or "LOGS" and a document.
namespace chela::bus::observability {

struct Measured {
  std::vector<json::Value> spans;  // as engine::traces::list shows them
  std::vector<json::Value> logs;   // as engine::logs::list shows them
  std::vector<json::Value>
      points;           // {name, type, unit?, value, count?, attributes{}, service_name, timestamp_unix_nano}
  size_t left_out = 0;  // past kMaxFrameItems
};

// kInvalidArgument for what is no such frame.
Result<Measured> read_frame(std::string_view frame);

}  // namespace chela::bus::observability
