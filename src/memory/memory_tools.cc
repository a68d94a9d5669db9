#include "memory/memory_tools.h"

#include <algorithm>

#include "base/strings.h"
#include "memory/documents.h"
#include "memory/path.h"
#include "memory/words.h"
#include "tools/basic_tool.h"

namespace chela::memory {
namespace {

using tools::ToolContext;
using tools::ToolInfo;
using tools::ToolResult;

constexpr std::int64_t kDefaultResults = 5;
constexpr std::int64_t kMaxTreeDepth = 10;

// A path or content that does not fit is for the model to correct; what the store cannot do is the engine's failure.
Result<ToolResult> failed(const Error& error) {
  if (error.code == Code::kInvalidArgument || error.code == Code::kNotFound || error.code == Code::kTooLarge)
    return ToolResult::error(error.message);
  return fail(error);
}

// What is remembered may have come from anywhere.
ToolResult from_memory(json::Value value) {
  ToolResult result = ToolResult::json(std::move(value));
  result.taint = tools::Taint::kUntrusted;
  return result;
}

class MemoryTool : public tools::BasicTool {
 protected:
  MemoryTool(Workspace& workspace, ToolInfo info) : BasicTool(std::move(info)), workspace_(workspace) {}
  Workspace& workspace_;
};

class SearchTool final : public MemoryTool {
 public:
  explicit SearchTool(Workspace& workspace)
      : MemoryTool(
            workspace,
            {.name = "memory_search",
             .description = "Searches what was remembered: notes, daily logs and other documents. Use it "
                            "before answering questions about the person, earlier work or decisions.",
             .parameters = tools::parameters(
                 R"({"type": "object", "required": ["query"], "additionalProperties": false, "properties": {
                                 "query": {"type": "string", "description": "words to look for"},
                                 "limit": {"type": "integer", "description": "number of results, 1 to 20, 5 when left out"}}})"),
             .idempotence = tools::Idempotence::kRepeatable}) {}

  Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) override {
    const std::string query = arguments.string_or("query");
    const std::int64_t limit =
        std::clamp<std::int64_t>(arguments.int_or("limit", kDefaultResults), 1, kMaxSearchResults);
    const Result<std::vector<SearchResult>> found =
        co_await workspace_.search(std::move(context.scope), query, static_cast<std::size_t>(limit));
    if (!found) co_return failed(found.error());
    json::Value results = json::Value::array();
    for (const SearchResult& each : *found) {
      results.push_back(json::Value::object({{"content", each.content},
                                             {"score", each.score},
                                             {"path", each.path},
                                             {"document_id", each.document_id}}));
    }
    co_return from_memory(json::Value::object(
        {{"query", query}, {"results", std::move(results)}, {"result_count", found->size()}}));
  }
};

class WriteTool final : public MemoryTool {
 public:
  explicit WriteTool(Workspace& workspace)
      : MemoryTool(
            workspace,
            {.name = "memory_write",
             .description = "Remembers something. target: memory for lasting facts about the person, "
                            "daily_log (the default) for what happens today, heartbeat for "
                            "standing tasks, bootstrap to end the first-run instructions, or a path such as "
                            "projects/boat.md.",
             .parameters = tools::parameters(
                 R"({"type": "object", "required": ["content"], "additionalProperties": false, "properties": {
                                 "content": {"type": "string", "description": "what to remember, so that it can be understood without the conversation"},
                                 "target": {"type": "string", "default": "daily_log"},
                                 "append": {"type": "boolean", "default": true, "description": "false replaces the document"},
                                 "private": {"type": "boolean", "default": false, "description": "true: only this agent can read it"}}})"),
             .idempotence = tools::Idempotence::kOnce}) {}

  Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) override {
    const std::string target(strings::trim(arguments.string_or("target", "daily_log")));
    const UnixMs now = workspace_.now();
    const Result<std::string> path = normalise_path(resolve_target(target, now));
    if (!path) co_return failed(path.error());
    if (is_protected(*path)) {
      co_return ToolResult::error(
          fmt::format("{} says who the agent is; only the person may write it", *path));
    }
    const Visibility visibility =
        arguments.bool_or("private", false) ? Visibility::kPrivate : Visibility::kShared;
    if (target == "bootstrap") co_return co_await clear(std::move(context.scope), *path);
    std::string content = arguments.string_or("content");
    if (strings::trim(content).empty())
      co_return ToolResult::error("the content is empty: there is nothing to remember");
    const bool daily = target == "daily_log";
    const bool append = daily || arguments.bool_or("append", true);
    if (daily) content.insert(0, stamp(now));
    const std::size_t length = content.size();
    const Result<store::DocumentRow> written =
        co_await (append ? workspace_.append(context.scope, *path, std::move(content), visibility)
                         : workspace_.write(context.scope, *path, std::move(content), visibility));
    if (!written) co_return failed(written.error());
    co_return ToolResult::json(json::Value::object(
        {{"status", "written"}, {"path", *path}, {"append", append}, {"content_length", length}}));
  }

 private:
  static std::string stamp(UnixMs now) {
    const CivilTime time = to_civil(now);
    return fmt::format("[{:02}:{:02}:{:02}] ", time.hour, time.minute, time.second);
  }

  Task<Result<ToolResult>> clear(Scope scope, std::string path) {
    const Result<store::DocumentRow> written = co_await workspace_.write(std::move(scope), path, "");
    if (!written) co_return failed(written.error());
    co_return ToolResult::json(json::Value::object(
        {{"status", "cleared"},
         {"path", path},
         {"message", "The first-run instructions are done and will not be shown again."}}));
  }
};

class ReadTool final : public MemoryTool {
 public:
  explicit ReadTool(Workspace& workspace)
      : MemoryTool(
            workspace,
            {.name = "memory_read",
             .description = "Reads a whole remembered document, for example MEMORY.md or "
                            "daily/2026-01-31.md. memory_tree shows which there are.",
             .parameters = tools::parameters(
                 R"({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
                                 "path": {"type": "string"}}})"),
             .idempotence = tools::Idempotence::kRepeatable}) {}

  Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) override {
    const std::string path = resolve_target(strings::trim(arguments.string_or("path")), workspace_.now());
    const Result<store::DocumentRow> row = co_await workspace_.read(std::move(context.scope), path);
    if (!row) co_return failed(row.error());
    co_return from_memory(json::Value::object({{"path", row->path},
                                               {"content", row->content},
                                               {"word_count", words_of(row->content).size()},
                                               {"updated_at", format_rfc3339(row->updated_at)}}));
  }
};

class TreeTool final : public MemoryTool {
 public:
  explicit TreeTool(Workspace& workspace)
      : MemoryTool(workspace, {.name = "memory_tree",
                               .description = "Lists remembered documents; folders end with a slash.",
                               .parameters = tools::parameters(
                                   R"({"type": "object", "additionalProperties": false, "properties": {
                                 "path": {"type": "string", "default": "", "description": "a folder; everything when left out"},
                                 "depth": {"type": "integer", "default": 1, "description": "levels of folders to open, 1 to 10"}}})"),
                               .idempotence = tools::Idempotence::kRepeatable}) {}

  Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) override {
    const std::int64_t depth = std::clamp<std::int64_t>(arguments.int_or("depth", 1), 1, kMaxTreeDepth);
    const Result<std::string> folder = normalise_folder(arguments.string_or("path"));
    if (!folder) co_return failed(folder.error());
    const Result<std::vector<store::DocumentInfo>> all =
        co_await workspace_.list(std::move(context.scope), *folder);
    if (!all) co_return failed(all.error());
    std::vector<std::string_view> paths;
    const std::size_t skip = folder->empty() ? 0 : folder->size() + 1;
    for (const store::DocumentInfo& info : *all) {
      if (info.path.size() > skip) paths.push_back(std::string_view(info.path).substr(skip));
    }
    co_return from_memory(level(paths, depth));
  }

 private:
  // One level of names from sorted relative paths: "a.md", "dir/" or, while depth is left, {"dir/": [...]}.
  static json::Value level(const std::vector<std::string_view>& paths, std::int64_t depth) {
    json::Value names = json::Value::array();
    for (std::size_t i = 0; i < paths.size();) {
      const std::size_t slash = paths[i].find('/');
      if (slash == std::string_view::npos) {
        names.push_back(paths[i++]);
        continue;
      }
      const std::string_view folder = paths[i].substr(0, slash + 1);
      std::vector<std::string_view> below;
      for (; i < paths.size() && paths[i].starts_with(folder); ++i)
        below.push_back(paths[i].substr(folder.size()));
      if (depth == 1)
        names.push_back(folder);
      else
        names.push_back(json::Value::object({{std::string(folder), level(below, depth - 1)}}));
    }
    return names;
  }
};

}  // namespace

Result<> add_memory_tools(tools::Registry& registry, Workspace& workspace) {
  Result<> added;
  const auto add = [&](std::unique_ptr<tools::Tool> tool) {
    if (added) added = registry.add(std::move(tool), "memory");
  };
  add(std::make_unique<SearchTool>(workspace));
  add(std::make_unique<WriteTool>(workspace));
  add(std::make_unique<ReadTool>(workspace));
  add(std::make_unique<TreeTool>(workspace));
  return added;
}

}  // namespace chela::memory
