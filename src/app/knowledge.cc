#include "app/knowledge.h"

#include "memory/recall.h"
#include "obs/log.h"

namespace chela::app {

// A turn goes on without what cannot be read: the log says so.
Task<std::vector<std::pair<std::string, std::string>>> WorkspaceKnowledge::identity(Scope scope) {
  std::vector<std::pair<std::string, std::string>> sections;
  Result<std::vector<memory::IdentitySection>> found = co_await identity_.sections(std::move(scope));
  if (!found) {
    log::warn("memory", "the identity documents cannot be read", {{"error", found.error().text()}});
    co_return sections;
  }
  for (memory::IdentitySection& each : *found)
    sections.emplace_back(std::move(each.title), std::move(each.text));
  co_return sections;
}

Task<std::vector<std::string>> WorkspaceKnowledge::recall(Scope scope, std::string text, size_t limit) {
  Result<std::vector<std::string>> lines =
      co_await memory::recall(workspace_, std::move(scope), std::move(text), limit);
  if (!lines) {
    log::warn("memory", "the memory cannot be searched", {{"error", lines.error().text()}});
    co_return std::vector<std::string>{};
  }
  co_return std::move(*lines);
}

}  // namespace chela::app
