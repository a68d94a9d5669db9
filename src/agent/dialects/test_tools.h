#pragma once

#include "agent/dialects/parser.h"

// Tools that tests of this folder know.
namespace chela::agent::dialects {

inline Tool test_tool(std::string name, std::string_view properties, std::string_view required = "[]") {
  return {.name = std::move(name),
          .parameters = *json::parse(fmt::format(R"({{"type": "object", "properties": {}, "required": {}}})",
                                                 properties, required))};
}

inline std::vector<Tool> test_tools() {
  return {
      test_tool("shell", R"({"command": {"type": "string"}})", R"(["command"])"),
      test_tool("file_read", R"({"path": {"type": "string"}, "limit": {"type": "integer"}})", R"(["path"])"),
      test_tool("file_write", R"({"path": {"type": "string"}, "content": {"type": "string"}})",
                R"(["path", "content"])"),
      test_tool("glob_search", R"({"pattern": {"type": "string"}})", R"(["pattern"])"),
      test_tool("memory_recall", R"({"query": {"type": "string"}, "limit": {"type": "integer"}})"),
      test_tool("message_send", R"({"channel": {"type": "string"}, "message": {"type": "string"}})"),
      test_tool("http_request", R"({"url": {"type": "string"}, "method": {"type": "string"}})"),
      test_tool("web_search", R"({"query": {"type": "string"}})"),
  };
}

inline std::vector<Tool> named_tools(std::initializer_list<std::string_view> names) {
  std::vector<Tool> tools = test_tools();
  for (const std::string_view each : names) tools.push_back({.name = std::string(each)});
  return tools;
}

// [{"name","arguments","id"?}] as JSON text, keys in order.
inline std::string shown(const std::vector<Call>& calls) {
  json::Value out = json::Value::array();
  for (const Call& each : calls) {
    json::Value call = json::Value::object({{"name", each.name}, {"arguments", each.arguments}});
    if (!each.id.empty()) call.set("id", each.id);
    out.push_back(std::move(call));
  }
  return json::canonical(out);
}

}  // namespace chela::agent::dialects
