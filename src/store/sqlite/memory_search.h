#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "store/memory_store.h"
#include "store/sqlite/connection.h"

namespace chela::store::sqlite {

// Full-text search over the chunks that the scope may see, ranked by BM25 with word frequencies of just these chunks.
Result<std::vector<ChunkHit>> search_chunks(Connection& db, const Scope& scope,
                                            std::vector<std::string> terms, std::size_t limit);

}  // namespace chela::store::sqlite
