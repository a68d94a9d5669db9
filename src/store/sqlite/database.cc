#include "store/sqlite/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "store/sqlite/schema.h"

namespace chela::store::sqlite {
namespace {

constexpr mode_t kFileMode = 0600;

Failure system_failure(std::string_view doing, const std::string& path, int number) {
  return fail(Code::kUnavailable, "cannot {} {}: {}", doing, path, std::generic_category().message(number));
}

// Makes the file (SQLite gives -wal and -shm its mode) and its folder, or narrows the file that is there.
Result<> make_private_file(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty() && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return system_failure("make the folder", folder, errno);
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, kFileMode);
  if (fd >= 0) {
    ::close(fd);
    return {};
  }
  if (errno != EEXIST) return system_failure("create", path, errno);
  if (::chmod(path.c_str(), kFileMode) != 0) return system_failure("make private", path, errno);
  return {};
}

Result<std::unique_ptr<Connection>> open_file(const std::string& path) {
  Result<> made = make_private_file(path);
  if (!made) return fail(std::move(made.error()));
  Result<std::unique_ptr<Connection>> db = Connection::open(path, Connection::Access::kReadWrite);
  if (!db) return db;
  // Before anything is written: the file may be another program's.
  Result<> ready = check_identity(**db);
  if (ready) ready = (*db)->use_wal();
  if (!ready) return fail(std::move(ready.error()));
  return db;
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::string& path, runtime::EventLoop& loop,
                                                 runtime::Pool& pool, WriterOptions options) {
  Result<std::unique_ptr<Connection>> db = open_file(path);
  if (!db) return fail(std::move(db.error()));
  Result<> ready = migrate(**db, sqlite_migrations(), loop.clock().now());
  if (!ready) return fail(std::move(ready.error()));
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
      tokens_(writer_, readers_) {}

}  // namespace chela::store::sqlite
