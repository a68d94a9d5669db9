#pragma once

#include <utility>

#include "tools/tool.h"

namespace chela::tools {

// What most tools share: their info is fixed and they always or never ask.
class BasicTool : public Tool {
 public:
  const ToolInfo& info() const final { return info_; }
  Approval approval(const json::Value&) const override { return approval_; }

 protected:
  explicit BasicTool(ToolInfo info, Approval approval = Approval::kNever)
      : info_(std::move(info)), approval_(approval) {}

 private:
  const ToolInfo info_;
  const Approval approval_;
};

}  // namespace chela::tools
