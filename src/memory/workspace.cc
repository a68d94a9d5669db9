#include "memory/workspace.h"

#include <algorithm>

#include "base/utf8.h"
#include "memory/chunker.h"
#include "memory/documents.h"
#include "memory/fusion.h"
#include "memory/meaning.h"
#include "memory/path.h"
#include "memory/words.h"

namespace chela::memory {

using store::DocumentInfo;
using store::DocumentRow;
using WriteMode = store::MemoryStore::WriteMode;

Task<Result<DocumentRow>> Workspace::read(Scope scope, std::string path) {
  Result<std::string> name = normalise_path(path);
  if (!name) co_return fail(name.error());
  co_return co_await store_.read(std::move(scope), std::move(*name));
}

Task<Result<DocumentRow>> Workspace::write(Scope scope, std::string path, std::string content,
                                           Visibility visibility) {
  return save(std::move(scope), std::move(path), std::move(content), WriteMode::kReplace, visibility);
}

Task<Result<DocumentRow>> Workspace::append(Scope scope, std::string path, std::string text,
                                            Visibility visibility) {
  return save(std::move(scope), std::move(path), std::move(text), WriteMode::kAppend, visibility);
}

Task<Result<DocumentRow>> Workspace::save(Scope scope, std::string path, std::string content, WriteMode mode,
                                          Visibility visibility) {
  Result<std::string> name = normalise_path(path);
  if (!name) co_return fail(name.error());
  if (!utf8::valid(content))
    co_return fail(Code::kInvalidArgument, "the content for {} is no valid UTF-8", *name);
  if (content.size() > kMaxDocumentBytes)
    co_return fail(Code::kTooLarge, "the content for {} has {} bytes; a document may have {}", *name,
                   content.size(), kMaxDocumentBytes);
  if (visibility == Visibility::kShared) scope.agent.clear();
  if (mode == WriteMode::kAppend && *name == kLongTermMemory) {
    // The store joins with one newline. Only what is there already needs an empty line after it.
    const Result<DocumentRow> before = co_await store_.read(scope, *name);
    if (before && !before->content.empty()) content.insert(0, 1, '\n');
  }
  store::MemoryStore::Write write{.id = ids_.next(),
                                  .path = std::move(*name),
                                  .content = std::move(content),
                                  .mode = mode,
                                  .at = clock_.now()};
  const std::size_t bucket = bucket_of(scope);
  Result<DocumentRow> written = co_await store_.write(std::move(scope), std::move(write), &chunk);
  // After the write: what was read before it must not count as the newest. Also when it failed: it may have been done.
  ++revisions_[bucket];
  co_return written;
}

std::size_t Workspace::bucket_of(const Scope& scope) {
  return std::hash<std::string>()(scope.realm + '\0' + scope.user) % kRevisions;
}

Task<Result<bool>> Workspace::remove(Scope scope, std::string path) {
  Result<std::string> name = normalise_path(path);
  if (!name) co_return fail(name.error());
  const std::size_t bucket = bucket_of(scope);
  Result<bool> removed = co_await store_.remove(scope, *name);
  if (removed && !*removed && !scope.agent.empty()) {
    scope.agent.clear();
    removed = co_await store_.remove(std::move(scope), std::move(*name));
  }
  ++revisions_[bucket];
  co_return removed;
}

Task<Result<std::vector<DocumentInfo>>> Workspace::list(Scope scope, std::string folder) {
  Result<std::string> prefix = normalise_folder(folder);
  if (!prefix) co_return fail(prefix.error());
  Result<std::vector<DocumentInfo>> all = co_await store_.list(std::move(scope), std::move(*prefix));
  if (all) {
    // Of one path the agent's own document comes first and hides the shared one.
    const auto end = std::unique(all->begin(), all->end(), [](const DocumentInfo& a, const DocumentInfo& b) {
      return a.path == b.path;
    });
    all->erase(end, all->end());
  }
  co_return all;
}

Task<Result<std::vector<Entry>>> Workspace::children(Scope scope, std::string folder) {
  const Result<std::string> prefix = normalise_folder(folder);
  if (!prefix) co_return fail(prefix.error());
  const Result<std::vector<DocumentInfo>> all = co_await list(std::move(scope), *prefix);
  if (!all) co_return fail(all.error());
  std::vector<Entry> entries;
  const std::size_t skip = prefix->empty() ? 0 : prefix->size() + 1;
  for (const DocumentInfo& info : *all) {
    if (info.path.size() < skip) continue;  // a document of the folder's own name
    const std::size_t slash = info.path.find('/', skip);
    Entry entry{.name = info.path.substr(skip, slash == std::string::npos ? slash : slash - skip),
                .path = info.path.substr(0, slash),
                .is_directory = slash != std::string::npos,
                .updated_at = info.updated_at};
    const auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) {
      return e.path == entry.path && e.is_directory == entry.is_directory;
    });
    if (same == entries.end())
      entries.push_back(std::move(entry));
    else
      same->updated_at = std::max(same->updated_at, entry.updated_at);
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.name, a.is_directory) < std::pair(b.name, b.is_directory);
  });
  co_return entries;
}

Task<Result<std::vector<store::ChunkHit>>> Workspace::find_words(Scope scope,
                                                                 std::vector<std::string> terms) {
  if (terms.empty()) co_return std::vector<store::ChunkHit>{};
  co_return co_await store_.search_text(std::move(scope), std::move(terms), kHitsPerMethod);
}

Task<Result<std::vector<SearchResult>>> Workspace::search(Scope scope, std::string query, std::size_t limit) {
  query.resize(utf8::prefix(query, kMaxQueryBytes).size());
  Result<std::vector<store::ChunkHit>> text = co_await find_words(scope, terms_of(query));
  if (!text) co_return fail(text.error());
  std::vector<std::vector<store::ChunkHit>> rankings;
  rankings.push_back(std::move(*text));
  if (rankings.front().size() > 1 && embedder_ != nullptr && embedder_->ready(scope)) {
    Result<std::vector<store::ChunkHit>> near =
        co_await by_meaning(*embedder_, std::move(scope), std::move(query), rankings.front());
    if (near) rankings.push_back(std::move(*near));
  }
  co_return fuse(std::move(rankings), std::min(limit, kMaxSearchResults));
}

Task<Result<std::vector<SearchResult>>> Workspace::search_terms(Scope scope, std::vector<std::string> terms,
                                                                std::size_t limit) {
  Result<std::vector<store::ChunkHit>> text = co_await find_words(std::move(scope), std::move(terms));
  if (!text) co_return fail(text.error());
  std::vector<std::vector<store::ChunkHit>> rankings;
  rankings.push_back(std::move(*text));
  co_return fuse(std::move(rankings), std::min(limit, kMaxSearchResults));
}

}  // namespace chela::memory
