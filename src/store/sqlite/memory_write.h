#pragma once

#include "base/result.h"
#include "base/scope.h"
#include "store/memory_store.h"
#include "store/sqlite/connection.h"

namespace chela::store::sqlite {

// What Memory::write and Memory::remove do inside the writer's transaction. The full-text index follows the chunks by triggers.
Result<DocumentRow> write_document(Connection& db, const Scope& scope, MemoryStore::Write write,
                                   MemoryStore::Chunker chunk);
Result<bool> remove_document(Connection& db, const Scope& scope, const std::string& path);

}  // namespace chela::store::sqlite
