#include "tools/builtin/time_tool.h"

#include <cmath>

#include "base/time_zone.h"
#include "tools/basic_tool.h"

namespace chela::tools {
namespace {

constexpr std::string_view kWeekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                          "Thursday", "Friday", "Saturday"};
constexpr std::string_view kDefaultFormat = "%Y-%m-%d %H:%M:%S %Z";
constexpr std::size_t kMaxFormatBytes = 200;

// One moment in all the forms that a model may need. Without a zone: UTC.
Result<json::Value> describe(UnixMs time, const std::string& zone) {
  Result<LocalTime> local = to_local(time, zone.empty() ? "UTC" : zone);
  if (!local) return fail(local.error());
  return json::Value::object({{"iso", zone.empty() ? format_rfc3339(time) : format_rfc3339(*local)},
                              {"weekday", kWeekdays[local->civil.weekday]},
                              {"timezone", local->zone},
                              {"unix", (time - (time % 1000 + 1000) % 1000) / 1000},
                              {"unix_millis", time}});
}

// At most two decimals, and none where the value is whole.
json::Value rounded(double value) {
  const double two = std::round(value * 100) / 100;
  if (two == std::floor(two)) return static_cast<std::int64_t>(two);
  return two;
}

json::Value difference(UnixMs from, UnixMs to) {
  const double seconds = static_cast<double>(to - from) / 1000;
  return json::Value::object({{"text", duration_words((to - from) / 1000)},
                              {"seconds", rounded(seconds)},
                              {"minutes", rounded(seconds / 60)},
                              {"hours", rounded(seconds / 3600)},
                              {"days", rounded(seconds / 86'400)}});
}

// Blocks while zone data is read: runs on the pool.
Result<json::Value> run(const json::Value& arguments, UnixMs now) {
  const std::string operation = arguments.string_or("operation");
  const std::string zone = arguments.string_or("timezone");
  const json::Value current("now");
  if (operation == "now") return describe(now, zone);

  const json::Value* given = arguments.find("timestamp");
  if (given == nullptr && operation != "format")
    return fail(Code::kInvalidArgument, "{} needs a timestamp", operation);
  // A time that is to be converted is UTC when it says nothing else; for the other operations it is local to the zone.
  const Result<UnixMs> time =
      parse_timestamp(given ? *given : current, operation == "convert" ? "" : zone, now);
  if (!time) return fail(time.error());
  if (operation == "parse") return describe(*time, zone);
  if (operation == "convert") {
    if (zone.empty()) return fail(Code::kInvalidArgument, "convert needs a timezone such as Europe/Berlin");
    return describe(*time, zone);
  }
  if (operation == "format") {
    const std::string format = arguments.string_or("format", kDefaultFormat);
    if (format.size() > kMaxFormatBytes)
      return fail(Code::kInvalidArgument, "the format has {} bytes; at most {} are taken", format.size(),
                  kMaxFormatBytes);
    const Result<std::string> text = format_time(*time, zone.empty() ? "UTC" : zone, format);
    if (!text) return fail(text.error());
    return json::Value(*text);
  }
  const json::Value* second = arguments.find("timestamp2");
  const Result<UnixMs> until = parse_timestamp(second ? *second : current, zone, now);
  if (!until) return fail(until.error());
  return difference(*time, *until);
}

class TimeTool final : public BasicTool {
 public:
  TimeTool(const runtime::Clock& clock, runtime::Pool& pool)
      : BasicTool(
            {.name = "time",
             .description =
                 "Dates and times. now: the current time. parse: reads a timestamp. format: writes it in "
                 "strftime notation. diff: the time from "
                 "timestamp to timestamp2 (default now). convert: a timestamp in another timezone.",
             .parameters = parameters(
                 R"({"type": "object", "required": ["operation"], "additionalProperties": false, "properties": {
                     "operation": {"type": "string", "enum": ["now", "parse", "format", "diff", "convert"]},
                     "timestamp": {"type": ["string", "number"], "description": "such as 2026-11-22T10:00:00Z, 2026-11-22 10:00, 2026-11-22, now, or Unix seconds"},
                     "timestamp2": {"type": ["string", "number"], "description": "for diff: the second time"},
                     "format": {"type": "string", "description": "for format, for example %A, %d %B %Y %H:%M"},
                     "timezone": {"type": "string", "description": "IANA name such as Europe/Berlin; UTC when left out"}}})"),
             .idempotence = Idempotence::kRepeatable}),
        clock_(clock),
        pool_(pool) {}

  Task<Result<ToolResult>> call(ToolContext, json::Value arguments) override {
    const Result<json::Value> value = co_await pool_.run(
        [arguments = std::move(arguments), now = clock_.now()] { return run(arguments, now); });
    if (!value) co_return ToolResult::error(value.error().message);
    const std::string* text = value->as_string();
    co_return text ? ToolResult::text(*text) : ToolResult::json(*value);
  }

 private:
  const runtime::Clock& clock_;
  runtime::Pool& pool_;
};

}  // namespace

std::unique_ptr<Tool> make_time_tool(const runtime::Clock& clock, runtime::Pool& pool) {
  return std::make_unique<TimeTool>(clock, pool);
}

}  // namespace chela::tools
