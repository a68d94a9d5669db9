#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agent/turn/state.h"
#include "base/json.h"
#include "store/turn_log_store.h"

namespace chela::agent {

struct MappedEvent {
  std::string type;
  json::Value data;
};

// What clients are told about a record; nothing for records that only the engine needs. Pure: live streams and replays after a
// reconnect give the same events. `tool_name` of the started call and the final `usage` come from the record itself.
std::vector<MappedEvent> events_of(const store::LogRecord& record);

// What people are shown of a result. That of a declined call speaks to the model: who declined it need not be told not to repeat it.
std::string preview_of(const turn::ToolFinished& finished);

// The base of every event: type, thread_id, turn_id.
json::Value event_data(std::string_view type, std::string_view thread, std::string_view turn);

}  // namespace chela::agent
