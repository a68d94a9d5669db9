#include "store/sqlite/database_file.h"

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

}  // namespace

Result<std::unique_ptr<Connection>> open_database_file(const std::string& path,
                                                       std::span<const Migration> migrations, UnixMs now) {
  Result<> made = make_private_file(path);
  if (!made) return fail(std::move(made.error()));
  Result<std::unique_ptr<Connection>> db = Connection::open(path, Connection::Access::kReadWrite);
  if (!db) return db;
  // Before anything is written: the file may be another program's.
  Result<> ready = check_identity(**db);
  if (ready) ready = (*db)->use_wal();
  if (ready) ready = migrate(**db, migrations, now);
  if (!ready) return fail(std::move(ready.error()));
  return db;
}

}  // namespace chela::store::sqlite
