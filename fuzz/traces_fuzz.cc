// LINK agent/traces
// Any text as a trace: what is read can be written, and is read again as the same; marks in arguments are filled without harm.

#include <cstdint>
#include <string_view>

#include "agent/traces/templates.h"
#include "agent/traces/trace.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace chela;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Result<agent::traces::Trace> trace = agent::traces::read_trace(text);
  if (!trace) return 0;
  trace->notes.clear();  // of members that are not written
  const Result<agent::traces::Trace> again = agent::traces::read_trace(agent::traces::write_trace(*trace));
  CHELA_CHECK(again.has_value() && *again == *trace, "a trace that was read is not read again as it was");
  for (const agent::traces::TraceTurn& turn : trace->turns) {
    std::map<std::string, std::string> results;
    for (const agent::traces::TraceStep& step : turn.steps) {
      for (const agent::traces::ExpectedResult& each : step.expected_results)
        results[each.call_id] = each.content;
      for (const agent::traces::TracedCall& each : step.calls)
        (void)agent::traces::filled(each.arguments, results);
    }
  }
  return 0;
}
