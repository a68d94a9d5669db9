#include "store/sqlite/database.h"

#include "store/sqlite/database_file.h"
#include "store/sqlite/schema.h"

namespace chela::store::sqlite {

Result<std::unique_ptr<Database>> Database::open(const std::string& path, runtime::EventLoop& loop,
                                                 runtime::Pool& pool, WriterOptions options) {
  Result<std::unique_ptr<Connection>> db = open_database_file(path, sqlite_migrations(), loop.clock().now());
  if (!db) return fail(std::move(db.error()));
  return std::unique_ptr<Database>(new Database(loop, std::move(*db), &pool, options));
}

Result<std::unique_ptr<Database>> Database::open_in_memory(runtime::EventLoop& loop, WriterOptions options) {
  Result<std::unique_ptr<Connection>> db = Connection::open("", Connection::Access::kReadWrite);
  if (!db) return fail(std::move(db.error()));
  Result<> ready = migrate(**db, sqlite_migrations(), loop.clock().now());
  if (!ready) return fail(std::move(ready.error()));
  return std::unique_ptr<Database>(new Database(loop, std::move(*db), nullptr, options));
}

Database::Database(runtime::EventLoop& loop, std::unique_ptr<Connection> db, runtime::Pool* pool,
                   WriterOptions options)
    : path_(db->path()),
      writer_(loop, std::move(db), pool != nullptr ? Writer::Runs::kOnThread : Writer::Runs::kOnLoop,
              options),
      readers_(pool != nullptr ? Readers(path_, *pool) : Readers(writer_)),
      turn_log_(writer_, readers_),
      blobs_(writer_, readers_),
      memory_(writer_, readers_),
      settings_(writer_, readers_),
      tokens_(writer_, readers_),
      budget_(writer_, readers_),
      response_cache_(writer_, readers_) {}

}  // namespace chela::store::sqlite
