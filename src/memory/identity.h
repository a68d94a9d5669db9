#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/workspace.h"
#include "runtime/pool.h"

namespace chela::memory {

inline constexpr std::size_t kMaxIdentityBytes = 64 * 1024;  // of an imported file; it is in every prompt

struct IdentitySection {
  std::string title;
  std::string text;

  bool operator==(const IdentitySection&) const = default;
};

// What the system prompt says of agent and user, in the order of kIdentityDocuments; empty documents are left out. Only these: daily logs and
// MEMORY.md change often, and a prompt must stay the same bytes from turn to turn (recall() covers them).
Task<Result<std::vector<IdentitySection>>> identity_sections(Workspace& workspace, Scope scope);

// The same, read again only when documents may have changed: every turn asks, hardly any turn changes them. Keeps kMaxKnownPrompts of them.
// Loop thread only.
class IdentityCache {
 public:
  explicit IdentityCache(Workspace& workspace) : workspace_(workspace) {}
  Task<Result<std::vector<IdentitySection>>> sections(Scope scope);

 private:
  struct Entry {
    std::uint64_t revision = 0;
    std::vector<IdentitySection> sections;
  };

  Workspace& workspace_;
  std::unordered_map<std::string, Entry> entries_;  // by realm, user and agent
};

struct ImportReport {
  std::vector<std::string> imported;
  std::vector<std::string> problems;  // one line each, for the log
};

// Takes identity files of a folder that are newer than their documents into the workspace, as shared documents. Links that lead
// out of the folder are not followed.
Task<ImportReport> import_identity_files(Workspace& workspace, runtime::Pool& pool, Scope scope,
                                         std::string folder);

}  // namespace chela::memory
