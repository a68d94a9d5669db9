#include "memory/identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/strings.h"
#include "base/utf8.h"
#include "memory/documents.h"
#include "os/beneath.h"
#include "os/file.h"

namespace chela::memory {
namespace {

struct File {
  std::string name;
  std::string content;
  UnixMs changed_at = 0;
};

struct Found {
  std::vector<File> files;
  std::vector<std::string> problems;
};

Result<File> read_identity_file(const std::string& folder, const std::string& name) {
  const Result<os::Fd> fd = os::open_beneath(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return fail(fd.error());
  struct stat info{};
  if (::fstat(fd->get(), &info) != 0) return fail(os::system_error(errno, "read", name));
  if (!S_ISREG(info.st_mode)) return fail(Code::kInvalidArgument, "{} is no regular file", name);
  Result<std::string> content = os::read_fd(fd->get(), name, kMaxIdentityBytes);
  if (!content) return fail(content.error());
  if (!utf8::valid(*content) || content->contains('\0'))
    return fail(Code::kInvalidArgument, "{} is no UTF-8 text", name);
  return File{name, std::move(*content),
              static_cast<UnixMs>(info.st_mtim.tv_sec) * 1000 + info.st_mtim.tv_nsec / 1'000'000};
}

Result<Found> find_files(const std::string& folder) {
  Found found;
  for (const std::string& name : identity_names()) {
    Result<File> file = read_identity_file(folder, name);
    if (file)
      found.files.push_back(std::move(*file));
    else if (file.error().code != Code::kNotFound)
      found.problems.push_back(file.error().message);
  }
  return found;
}

}  // namespace

Task<Result<std::vector<IdentitySection>>> identity_sections(Workspace& workspace, Scope scope) {
  std::vector<IdentitySection> sections;
  for (const IdentityDocument& document : kIdentityDocuments) {
    const Result<store::DocumentRow> row = co_await workspace.read(scope, std::string(document.path));
    if (!row && row.error().code == Code::kNotFound) continue;
    if (!row) co_return fail(row.error());
    const std::string_view text = strings::trim(row->content);
    if (!text.empty()) sections.push_back({std::string(document.title), std::string(text)});
  }
  co_return sections;
}

Task<Result<std::vector<IdentitySection>>> IdentityCache::sections(Scope scope) {
  const std::string key = scope.realm + '\0' + scope.user + '\0' + scope.agent;
  const std::uint64_t revision = workspace_.revision(scope);
  if (const auto known = entries_.find(key); known != entries_.end() && known->second.revision == revision)
    co_return known->second.sections;
  Result<std::vector<IdentitySection>> read = co_await identity_sections(workspace_, std::move(scope));
  if (!read) co_return read;
  if (entries_.size() >= kMaxKnownPrompts && !entries_.contains(key)) entries_.clear();
  entries_[key] = {revision, *read};
  co_return read;
}

Task<ImportReport> import_identity_files(Workspace& workspace, runtime::Pool& pool, Scope scope,
                                         std::string folder) {
  ImportReport report;
  scope.agent.clear();
  Result<Found> found = co_await pool.run([folder] { return find_files(folder); });
  if (!found) {
    report.problems.push_back(found.error().message);
    co_return report;
  }
  report.problems = std::move(found->problems);
  for (File& file : found->files) {
    const Result<store::DocumentRow> row = co_await workspace.read(scope, file.name);
    if (row && (row->updated_at >= file.changed_at || row->content == file.content)) continue;
    if (!row && row.error().code != Code::kNotFound) {
      report.problems.push_back(row.error().message);
      continue;
    }
    const Result<store::DocumentRow> written =
        co_await workspace.write(scope, file.name, std::move(file.content));
    if (written)
      report.imported.push_back(file.name);
    else
      report.problems.push_back(written.error().message);
  }
  co_return report;
}

}  // namespace chela::memory
