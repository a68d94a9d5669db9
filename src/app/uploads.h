#pragma once

#include "agent/dependencies.h"
#include "runtime/pool.h"
#include "tools/builtin/workspaces.h"

namespace chela::app {

// Files of messages in the workspaces that the tools work in.
class WorkspaceUploads final : public agent::Uploads {
 public:
  WorkspaceUploads(runtime::Pool& pool, const tools::Workspaces& workspaces)
      : pool_(pool), workspaces_(workspaces) {}
  Task<Result<>> save(Scope scope, std::string path, std::string bytes) override;

 private:
  runtime::Pool& pool_;
  const tools::Workspaces& workspaces_;
};

}  // namespace chela::app
