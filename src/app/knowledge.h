#pragma once

#include "agent/dependencies.h"
#include "memory/identity.h"
#include "memory/workspace.h"

namespace chela::app {

// What the agents know of their user, from the workspace's documents.
class WorkspaceKnowledge final : public agent::Knowledge {
 public:
  explicit WorkspaceKnowledge(memory::Workspace& workspace) : workspace_(workspace), identity_(workspace) {}
  Task<std::vector<std::pair<std::string, std::string>>> identity(Scope scope) override;
  Task<std::vector<std::string>> recall(Scope scope, std::string text, size_t limit) override;

 private:
  memory::Workspace& workspace_;
  memory::IdentityCache identity_;
};

}  // namespace chela::app
