#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "base/time.h"
#include "runtime/task.h"

namespace chela::store {

struct DocumentRow {
  std::string id;
  std::string path;  // normalised: no leading slash, no "..", "/" between parts
  std::string content;
  std::string agent;  // "" = shared by the user's agents
  UnixMs created_at = 0;
  UnixMs updated_at = 0;
};

struct DocumentInfo {
  std::string path;
  std::string agent;
  UnixMs updated_at = 0;
  std::int64_t bytes = 0;
};

struct ChunkHit {
  std::string document_id;
  std::string path;
  std::string content;
  std::int64_t chunk_index = 0;
  double rank = 0;  // better is higher; comparable only within one answer
};

// Workspace documents and their full-text index. Reads see the scope's agent and the shared rows (own first); writes go to exactly
// scope.agent. Writing replaces the document's chunks in the same transaction.
class MemoryStore {
 public:
  virtual ~MemoryStore() = default;

  enum class WriteMode { kReplace, kAppend };
  struct Write {
    std::string id;  // used when the document is new
    std::string path;
    std::string content;
    WriteMode mode = WriteMode::kReplace;  // kAppend joins with a newline and is atomic
    UnixMs at = 0;
  };
  // `chunk` is given the whole new content and must be pure: it runs on the writer thread. Returns the
  // document as written. kTooLarge past kMaxDocumentBytes.
  using Chunker = std::vector<std::string> (*)(const std::string& content);
  virtual Task<Result<DocumentRow>> write(Scope scope, Write write, Chunker chunk) = 0;

  virtual Task<Result<DocumentRow>> read(Scope scope, std::string path) = 0;  // kNotFound
  virtual Task<Result<bool>> remove(Scope scope, std::string path) = 0;
  // All documents whose path is `prefix` or starts with `prefix` + "/" ("" = all), ordered by path, of one path own before shared.
  virtual Task<Result<std::vector<DocumentInfo>>> list(Scope scope, std::string prefix) = 0;
  // Chunks that hold any of the terms (already split; any punctuation is safe; at most
  // kMaxSearchTerms count), best first.
  virtual Task<Result<std::vector<ChunkHit>>> search_text(Scope scope, std::vector<std::string> terms,
                                                          std::size_t limit) = 0;
};

}  // namespace chela::store
