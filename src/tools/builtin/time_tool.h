#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "runtime/clock.h"
#include "runtime/pool.h"
#include "tools/tool.h"

namespace chela::tools {

std::unique_ptr<Tool> make_time_tool(const runtime::Clock& clock, runtime::Pool& pool);

// What people and models write: RFC 3339 with or without seconds and offset, a date alone, "now", Unix seconds or milliseconds. Without an
// offset the time is local to `zone` ("" = UTC).
Result<UnixMs> parse_timestamp(const json::Value& value, std::string_view zone, UnixMs now);

// "3 days 4 hours 5 minutes", without zero parts; "0 seconds".
std::string duration_words(std::int64_t seconds);

}  // namespace chela::tools
