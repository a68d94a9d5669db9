#pragma once

#include "store/memory_store.h"
#include "store/sqlite/readers.h"
#include "store/sqlite/writer.h"

namespace chela::store::sqlite {

class Memory final : public MemoryStore {
 public:
  Memory(Writer& writer, Readers& readers) : writer_(writer), readers_(readers) {}

  Task<Result<DocumentRow>> write(Scope scope, Write write, Chunker chunk) override;
  Task<Result<DocumentRow>> read(Scope scope, std::string path) override;
  Task<Result<bool>> remove(Scope scope, std::string path) override;
  Task<Result<std::vector<DocumentInfo>>> list(Scope scope, std::string prefix) override;
  Task<Result<std::vector<ChunkHit>>> search_text(Scope scope, std::vector<std::string> terms,
                                                  std::size_t limit) override;

 private:
  Writer& writer_;
  Readers& readers_;
};

}  // namespace chela::store::sqlite
