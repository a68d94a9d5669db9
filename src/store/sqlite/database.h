#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/event_loop.h"
#include "runtime/pool.h"
#include "store/sqlite/blobs.h"
#include "store/sqlite/budget.h"
#include "store/sqlite/memory.h"
#include "store/sqlite/readers.h"
#include "store/sqlite/response_cache.h"
#include "store/sqlite/settings.h"
#include "store/sqlite/tokens.h"
#include "store/sqlite/turn_log.h"
#include "store/sqlite/writer.h"

namespace chela::store::sqlite {

// All domains of the embedded database: one file (with its -wal and -shm beside it), or nothing but memory. Owned by app/, lives on the
// loop thread; opening and destroying it block. Destroy it after the tasks that use it and before the loop and the pool: what is queued
// is committed then.
class Database {
 public:
  // Opens or creates the file (0600; a missing folder is made, 0700) and brings its schema up to date. Fails with the next step to take when
  // the file is no database, belongs to another program, or has been used by a newer Chela.
  static Result<std::unique_ptr<Database>> open(const std::string& path, runtime::EventLoop& loop,
                                                runtime::Pool& pool, WriterOptions options = {});
  // For `--no-db` and tests: everything runs on the loop, nothing outlives the object.
  static Result<std::unique_ptr<Database>> open_in_memory(runtime::EventLoop& loop,
                                                          WriterOptions options = {});

  TurnLogStore& turn_log() { return turn_log_; }
  BlobStore& blobs() { return blobs_; }
  MemoryStore& memory() { return memory_; }
  SettingsStore& settings() { return settings_; }
  TokenStore& tokens() { return tokens_; }
  BudgetStore& budget() { return budget_; }
  ResponseCacheStore& response_cache() { return response_cache_; }

 private:
  Database(runtime::EventLoop& loop, std::unique_ptr<Connection> db, runtime::Pool* pool,
           WriterOptions options);

  const std::string path_;
  // Readers go first: the last connection to close copies the log back into the file, and theirs may not write.
  Writer writer_;
  Readers readers_;
  TurnLog turn_log_;
  Blobs blobs_;
  Memory memory_;
  Settings settings_;
  Tokens tokens_;
  Budget budget_;
  ResponseCache response_cache_;
};

}  // namespace chela::store::sqlite
