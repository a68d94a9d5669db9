#include "tools/builtin/file_tools.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/limits.h"
#include "base/strings.h"
#include "os/beneath.h"
#include "os/file.h"
#include "tools/basic_tool.h"
#include "tools/builtin/dir_lister.h"
#include "tools/builtin/line_reader.h"

namespace chela::tools {
namespace {

// What is wrong with a path or a file is for the model to work around; a stop is not.
Result<ToolResult> failed(const Error& error) {
  if (error.code == Code::kCancelled) return fail(error);
  return ToolResult::error(error.message);
}

ToolResult from_outside(std::string text) {
  ToolResult result = ToolResult::text(std::move(text));
  result.taint = Taint::kUntrusted;
  return result;
}

// The file of a path that is to be read: a regular one, opened without waiting for anybody (a pipe would block).
Result<os::Fd> open_regular(const std::string& root, const std::string& path) {
  Result<os::Fd> fd = os::open_beneath(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return fd;
  struct stat info{};
  if (::fstat(fd->get(), &info) != 0) return fail(os::system_error(errno, "read", path));
  if (S_ISDIR(info.st_mode)) return fail(Code::kInvalidArgument, "{} is a directory; use list_dir", path);
  if (!S_ISREG(info.st_mode)) return fail(Code::kInvalidArgument, "{} is no regular file", path);
  return fd;
}

std::string describe(const LineRange& range, const std::string& path) {
  const std::string total =
      range.total_known ? fmt::format("{}", range.total) : fmt::format("more than {}", range.total);
  if (range.first > range.last) {
    if (range.total == 0) return fmt::format("[{} is empty]", path);
    return fmt::format("[{} has {} lines; there is nothing at line {}]", path, total, range.first);
  }
  std::string text = range.text;
  if (range.last_line_cut)
    text += fmt::format("\n[line {} is longer than {} bytes and is cut]", range.last, kMaxReadBytes);
  const bool more = range.last < range.total || !range.total_known;
  if (range.first > 1 || more) text += fmt::format("\n[lines {} to {} of {}", range.first, range.last, total);
  if (more) text += fmt::format("; go on with offset {}", range.last + 1);
  return range.first > 1 || more ? text + "]" : text;
}

class ReadFileTool final : public BasicTool {
 public:
  ReadFileTool(runtime::Pool& pool, const Workspaces& workspaces)
      : BasicTool(
            {.name = "read_file",
             .description =
                 fmt::format("Reads a text file of the workspace, at most {} lines at once.", kMaxReadLines),
             .parameters = parameters(
                 R"({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
                     "path": {"type": "string", "description": "relative to the workspace"},
                     "offset": {"type": "integer", "description": "first line to read, from 1"},
                     "limit": {"type": "integer", "description": "number of lines"}}})"),
             .idempotence = Idempotence::kRepeatable}),
        pool_(pool),
        workspaces_(workspaces) {}

  Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) override {
    const std::int64_t offset = std::clamp<std::int64_t>(arguments.int_or("offset", 1), 1, INT64_MAX / 2);
    const std::int64_t limit =
        std::clamp<std::int64_t>(arguments.int_or("limit", kMaxReadLines), 1, kMaxReadLines);
    return pool_.run([root = workspaces_.folder_of(context.scope), path = arguments.string_or("path"), offset,
                      limit, stop = context.stop]() -> Result<ToolResult> {
      if (const Result<> made = os::make_private_dir(root); !made) return failed(made.error());
      const Result<os::Fd> fd = open_regular(root, path);
      if (!fd) return failed(fd.error());
      const Result<LineRange> range = read_lines(fd->get(), offset, limit, stop);
      if (!range) return failed(range.error());
      if (range->binary) return ToolResult::error(fmt::format("{} is a binary file, not text", path));
      return from_outside(describe(*range, path));
    });
  }

 private:
  runtime::Pool& pool_;
  const Workspaces& workspaces_;
};

class ListDirTool final : public BasicTool {
 public:
  ListDirTool(runtime::Pool& pool, const Workspaces& workspaces)
      : BasicTool(
            {.name = "list_dir",
             .description = "Lists a directory of the workspace: directories (with a slash at the end), then "
                            "files with their sizes.",
             .parameters = parameters(R"({"type": "object", "additionalProperties": false, "properties": {
                     "path": {"type": "string", "default": ".", "description": "relative to the workspace, which is the default"},
                     "recursive": {"type": "boolean", "default": false},
                     "max_depth": {"type": "integer", "default": 3, "description": "levels to show when recursive, at most 10"}}})"),
             .idempotence = Idempotence::kRepeatable}),
        pool_(pool),
        workspaces_(workspaces) {}

  Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) override {
    const int wanted =
        static_cast<int>(std::clamp<std::int64_t>(arguments.int_or("max_depth", 1), 1, kMaxDirDepth));
    const int depth = arguments.bool_or("recursive", false) ? wanted : 1;
    return pool_.run([root = workspaces_.folder_of(context.scope), path = arguments.string_or("path", "."),
                      depth, stop = context.stop]() -> Result<ToolResult> {
      if (const Result<> made = os::make_private_dir(root); !made) return failed(made.error());
      Result<std::string> listing = list_tree(root, path.empty() ? "." : path, depth, stop);
      if (!listing) return failed(listing.error());
      return from_outside(std::move(*listing));
    });
  }

 private:
  runtime::Pool& pool_;
  const Workspaces& workspaces_;
};

// True when the path, links resolved, is a protected name in the root itself.
Result<bool> is_protected(const std::string& root, const std::string& path,
                          const std::vector<std::string>& names) {
  const Result<std::string> top = os::resolve_inside(root, ".");
  if (!top) return fail(top.error());
  const Result<std::string> target = os::resolve_inside(root, path);
  if (!target) return fail(target.error());
  if (!target->starts_with(*top + "/")) return false;
  const std::string_view name = std::string_view(*target).substr(top->size() + 1);
  return std::any_of(names.begin(), names.end(),
                     [name](const std::string& each) { return strings::iequals(each, name); });
}

class WriteFileTool final : public BasicTool {
 public:
  WriteFileTool(runtime::Pool& pool, const Workspaces& workspaces, std::vector<std::string> protected_files)
      : BasicTool(
            {.name = "write_file",
             .description = "Writes a file of the workspace: creates it, with its directories, or replaces "
                            "what is there. For notes to remember use memory_write.",
             .parameters = parameters(
                 R"({"type": "object", "required": ["path", "content"], "additionalProperties": false, "properties": {
                     "path": {"type": "string", "description": "relative to the workspace"},
                     "content": {"type": "string", "description": "the whole new content"}}})"),
             .idempotence = Idempotence::kOnce},
            Approval::kUnlessAutoApproved),
        pool_(pool),
        workspaces_(workspaces),
        protected_files_(std::move(protected_files)) {}

  Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) override {
    return pool_.run([root = workspaces_.folder_of(context.scope), path = arguments.string_or("path"),
                      content = arguments.string_or("content"), names = protected_files_,
                      stop = context.stop]() -> Result<ToolResult> {
      if (content.size() > kMaxFileWriteBytes)
        return ToolResult::error(fmt::format("the content has {} bytes; at most {} are written",
                                             content.size(), kMaxFileWriteBytes));
      if (const Result<> made = os::make_private_dir(root); !made) return failed(made.error());
      const Result<bool> refused = is_protected(root, path, names);
      if (!refused) return failed(refused.error());
      if (*refused)
        return ToolResult::error(fmt::format("{} steers the agent; only the person may write it", path));
      if (stop.stop_requested()) return fail(Code::kCancelled, "writing was cancelled");
      if (const Result<> written = os::write_beneath(root, path, content); !written)
        return failed(written.error());
      return ToolResult::text(fmt::format("Wrote {} bytes to {}.", content.size(), path));
    });
  }

 private:
  runtime::Pool& pool_;
  const Workspaces& workspaces_;
  const std::vector<std::string> protected_files_;
};

}  // namespace

std::unique_ptr<Tool> make_read_file_tool(runtime::Pool& pool, const Workspaces& workspaces) {
  return std::make_unique<ReadFileTool>(pool, workspaces);
}
std::unique_ptr<Tool> make_list_dir_tool(runtime::Pool& pool, const Workspaces& workspaces) {
  return std::make_unique<ListDirTool>(pool, workspaces);
}
std::unique_ptr<Tool> make_write_file_tool(runtime::Pool& pool, const Workspaces& workspaces,
                                           std::vector<std::string> protected_files) {
  return std::make_unique<WriteFileTool>(pool, workspaces, std::move(protected_files));
}

}  // namespace chela::tools
