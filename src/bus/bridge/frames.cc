#include "bus/bridge/frames.h"

namespace chela::bus::bridge::frames {

using json::Value;

std::string register_function(std::string_view id, std::string_view description) {
  return json::write(Value::object({{"type", "registerfunction"}, {"id", id}, {"description", description}}));
}

std::string unregister_function(std::string_view id) {
  return json::write(Value::object({{"type", "unregisterfunction"}, {"id", id}}));
}

std::string register_service(std::string_view id, std::string_view name) {
  return json::write(Value::object({{"type", "registerservice"}, {"id", id}, {"name", name}}));
}

std::string reattach(std::string_view worker_id, std::string_view token) {
  return json::write(
      Value::object({{"type", "reattach"}, {"previous_worker_id", worker_id}, {"reattach_token", token}}));
}

std::string tell(std::string_view function_id, std::string_view data, Trace trace) {
  std::string out = fmt::format(R"({{"type":"invokefunction","function_id":{},"data":{})",
                                write::quoted(function_id), data);
  if (!trace.traceparent.empty()) out += fmt::format(R"(,"traceparent":{})", trace.traceparent);
  if (!trace.baggage.empty()) out += fmt::format(R"(,"baggage":{})", trace.baggage);
  return out + R"(,"action":{"type":"void"}})";
}

}  // namespace chela::bus::bridge::frames
