#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

// The documents that mean something to the engine.
namespace chela::memory {

inline constexpr std::string_view kLongTermMemory = "MEMORY.md";
inline constexpr std::string_view kHeartbeat = "HEARTBEAT.md";
inline constexpr std::string_view kBootstrap = "BOOTSTRAP.md";

struct IdentityDocument {
  std::string_view path;
  std::string_view title;  // of its section in the system prompt
};
// In the order of the system prompt.
inline constexpr auto kIdentityDocuments = std::to_array<IdentityDocument>({
    {"BOOTSTRAP.md", "First-Run Bootstrap"},
    {"AGENTS.md", "Agent Instructions"},
    {"SOUL.md", "Core Values"},
    {"USER.md", "User Context"},
    {"IDENTITY.md", "Identity"},
    {"TOOLS.md", "Tool Notes"},
});

// Their names, which tools must not write as files of the workspace: they would be imported.
std::vector<std::string> identity_names();

// AGENTS, SOUL, USER and IDENTITY of the root, with or without ".md", in any case: only the person writes these. For normalised paths.
bool is_protected(std::string_view path);

// Documents that are in the system prompt already, or instructions rather than memories: not recalled.
bool is_memory(std::string_view path);

// "daily/2026-01-02.md"
std::string daily_log_path(UnixMs now);

// What tools may call a document: memory, heartbeat, daily_log, bootstrap, or a path, which is returned as it is.
std::string resolve_target(std::string_view target, UnixMs now);

}  // namespace chela::memory
