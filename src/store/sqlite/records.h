#pragma once

#include "runtime/event_loop.h"
#include "runtime/pool.h"
#include "store/records.h"
#include "store/sqlite/writer.h"

namespace chela::store::sqlite {

// Gives what opens files of records: SQLite databases in write-ahead mode, each with a lock beside it (<file>.lock) that only one owner at
// a time can hold and that ends with its process. Files are opened on the pool; one that is not there is made by the first commit, so that a
// module that nobody uses costs neither thread nor file. Loop and pool outlive what it opens.
OpenRecords records_opener(runtime::EventLoop& loop, runtime::Pool& pool, WriterOptions options = {});

}  // namespace chela::store::sqlite
