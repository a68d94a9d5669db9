#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "base/scope.h"
#include "memory/embedder.h"
#include "runtime/clock.h"
#include "runtime/id_source.h"
#include "runtime/task.h"
#include "store/memory_store.h"

namespace chela::memory {

enum class Visibility { kShared, kPrivate };  // for all of the user's agents, or for the scope's agent alone

struct SearchResult {
  std::string document_id;
  std::string path;
  std::string content;  // of the chunk that matches
  double score = 0;     // the best of an answer has 1
};

// An immediate child of a folder. Folders exist by the documents in them.
struct Entry {
  std::string name;
  std::string path;
  bool is_directory = false;
  UnixMs updated_at = 0;  // of a folder: the latest below
};

// The documents of a user, as everybody above the store works with them: paths normalised, chunks cut, searches made safe. Reads see the
// documents of the scope's agent and the shared ones, own first. Loop thread only; owned by app/.
class Workspace {
 public:
  Workspace(store::MemoryStore& store, runtime::IdSource& ids, const runtime::Clock& clock)
      : store_(store), ids_(ids), clock_(clock) {}

  // All: kInvalidArgument for a bad path. read: kNotFound. write, append: kTooLarge past kMaxDocumentBytes, kInvalidArgument when the
  // content is no valid UTF-8.
  Task<Result<store::DocumentRow>> read(Scope scope, std::string path);
  Task<Result<store::DocumentRow>> write(Scope scope, std::string path, std::string content,
                                         Visibility visibility = Visibility::kShared);
  // Adds to the end on a line of its own; to MEMORY.md with an empty line between.
  Task<Result<store::DocumentRow>> append(Scope scope, std::string path, std::string text,
                                          Visibility visibility = Visibility::kShared);
  // Removes what read() would give; false when there was nothing.
  Task<Result<bool>> remove(Scope scope, std::string path);

  // All documents at or below a folder ("" = all), by path, each path once.
  Task<Result<std::vector<store::DocumentInfo>>> list(Scope scope, std::string folder);
  // What is directly in a folder, by name.
  Task<Result<std::vector<Entry>>> children(Scope scope, std::string folder);

  // Chunks that fit the query, best first, at most min(limit, kMaxSearchResults): by words, and of those found also by meaning while an
  // embedder is ready. Any text is a safe query; one without words finds nothing.
  Task<Result<std::vector<SearchResult>>> search(Scope scope, std::string query, std::size_t limit);
  // By words alone, which were chosen already.
  Task<Result<std::vector<SearchResult>>> search_terms(Scope scope, std::vector<std::string> terms,
                                                       std::size_t limit);

  // From now on searches ask it too. It must live as long as somebody searches.
  void use(Embedder& embedder) { embedder_ = &embedder; }

  UnixMs now() const { return clock_.now(); }

  // Changes with every document of the user that is written or removed here, and with some of other users: while it is the same, so is
  // what a read gives.
  std::uint64_t revision(const Scope& scope) const { return revisions_[bucket_of(scope)]; }

 private:
  Task<Result<std::vector<store::ChunkHit>>> find_words(Scope scope, std::vector<std::string> terms);
  Task<Result<store::DocumentRow>> save(Scope scope, std::string path, std::string content,
                                        store::MemoryStore::WriteMode mode, Visibility visibility);

  // Counts of writes. Users share them, so that they need no memory of their own.
  static constexpr std::size_t kRevisions = 256;
  static std::size_t bucket_of(const Scope& scope);

  store::MemoryStore& store_;
  runtime::IdSource& ids_;
  const runtime::Clock& clock_;
  Embedder* embedder_ = nullptr;
  std::array<std::uint64_t, kRevisions> revisions_{};
};

}  // namespace chela::memory
