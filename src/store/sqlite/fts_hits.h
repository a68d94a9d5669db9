#pragma once

#include "base/result.h"

namespace chela::store::sqlite {

class Connection;

// Makes the full-text function chela_hits(<table>) known to a connection. For the current row it gives a blob of native uint32: the
// number of words in column 1, then for each phrase of the query how often that column has it. What FTS5's own bm25() counts spans
// all rows of the table; with these numbers the caller weighs words by the rows of one user alone, so that a rank says nothing about
// what others have written.
Result<> register_fts_hits(Connection& db);

}  // namespace chela::store::sqlite
