#pragma once

#include <string>

#include "bus/bus.h"
#include "tools/basic_tool.h"

namespace chela::tools {

// A function of the bus as a tool: called in the scope of the turn, with what those whose words the turn follows may do. What it
// answers is text from outside.
class WorkerTool final : public BasicTool {
 public:
  // The tool of a registration. kInvalidArgument, kTooLarge: why it cannot be one.
  static Result<ToolPtr> create(bus::Bus& bus, const bus::FunctionSpec& spec);

  Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) override;

  const std::string& function_id() const { return function_id_; }
  size_t bytes() const { return bytes_; }  // that it takes of a prompt, about

 private:
  WorkerTool(bus::Bus& bus, std::string function_id, size_t bytes, ToolInfo info, Approval approval)
      : BasicTool(std::move(info), approval),
        bus_(bus),
        function_id_(std::move(function_id)),
        bytes_(bytes) {}

  bus::Bus& bus_;
  const std::string function_id_;
  const size_t bytes_;
};

}  // namespace chela::tools
