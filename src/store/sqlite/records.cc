#include "store/sqlite/records.h"

#include <filesystem>
#include <system_error>

#include "os/file_lock.h"
#include "store/sqlite/database_file.h"
#include "store/sqlite/limit.h"

namespace chela::store::sqlite {
namespace {

Result<std::unique_ptr<Connection>> open_file(const std::filesystem::path& file, UnixMs now) {
  return open_database_file(file.string(), sqlite_record_migrations(), now);
}

struct Opened {
  os::FileLock lock;
  std::unique_ptr<Connection> db;  // null when there is no file yet
};

// On a pool thread.
Result<Opened> open_locked(const std::filesystem::path& file, UnixMs now) {
  std::error_code failed;
  if (const std::filesystem::path folder = file.parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, failed);
  if (failed) {
    return fail(Code::kUnavailable, "cannot make the folder {}: {}", file.parent_path().string(),
                failed.message());
  }
  Result<os::FileLock> lock = os::FileLock::acquire(file.string() + ".lock");
  if (!lock && lock.error().code == Code::kConflict) {
    return fail(Code::kConflict, "{} is in use by process {}: end it, or give each its own file_path",
                file.string(), lock.error().detail("pid"));
  }
  if (!lock) return fail(std::move(lock.error()));
  if (!std::filesystem::exists(file, failed) && !failed) return Opened{.lock = std::move(*lock)};
  Result<std::unique_ptr<Connection>> db = open_file(file, now);
  if (!db) return fail(std::move(db.error()));
  return Opened{.lock = std::move(*lock), .db = std::move(*db)};
}

// At most `limit` records, fewer when they are large.
Result<std::vector<Record>> read_page(Connection& db, const std::string& space,
                                      const std::optional<RecordKey>& after, size_t limit) {
  std::vector<Record> page;
  size_t bytes = 0;
  const auto take = [&](const Row& row) {
    page.push_back({.space = row.text(0), .key = row.text(1), .value = row.text(2)});
    bytes += page.back().space.size() + page.back().key.size() + page.back().value.size();
    return bytes < kMaxRecordPageBytes;
  };
  Result<> done;
  if (space.empty()) {
    // No space is empty: all records come behind the empty key.
    const RecordKey from = after.value_or(RecordKey());
    done = db.each(
        "SELECT space, key, value FROM records WHERE (space, key) > (?, ?) ORDER BY space, key LIMIT ?",
        {Arg::blob(from.space), Arg::blob(from.key), sql_limit(limit)}, take);
  } else if (!after || after->space < space) {
    done = db.each("SELECT space, key, value FROM records WHERE space = ? ORDER BY key LIMIT ?",
                   {Arg::blob(space), sql_limit(limit)}, take);
  } else if (after->space == space) {
    done = db.each("SELECT space, key, value FROM records WHERE space = ? AND key > ? ORDER BY key LIMIT ?",
                   {Arg::blob(space), Arg::blob(after->key), sql_limit(limit)}, take);
  }
  if (!done) return fail(std::move(done.error()));
  return page;
}

Result<> write_changes(Connection& db, const std::vector<RecordChange>& changes) {
  for (const RecordChange& change : changes) {
    const Arg space = Arg::blob(change.space);
    const Arg key = Arg::blob(change.key);
    Result<> done = change.value ? db.run(
                                       "INSERT INTO records (space, key, value) VALUES (?, ?, ?)"
                                       " ON CONFLICT (space, key) DO UPDATE SET value = excluded.value",
                                       {space, key, Arg::blob(*change.value)})
                                 : db.run("DELETE FROM records WHERE space = ? AND key = ?", {space, key});
    if (!done) return done;
  }
  return {};
}

template <class T>
Task<Result<T>> refuse(Error error) {
  co_return fail(std::move(error));
}

Task<Result<std::vector<Record>>> none() { co_return std::vector<Record>(); }

Error closed() { return Error{.code = Code::kUnavailable, .message = "the records are closed"}; }

// What makes the file with the first commit, on the writer's thread.
GroupCommit::Open maker(std::filesystem::path file, const runtime::Clock& clock) {
  return [file = std::move(file), &clock] { return open_file(file, clock.now()); };
}

class RecordFile final : public Records {
 public:
  RecordFile(runtime::EventLoop& loop, std::filesystem::path file, Opened opened, WriterOptions options)
      : lock_(std::move(opened.lock)),
        empty_(opened.db == nullptr),
        writer_(
            std::in_place, loop,
            opened.db ? GroupCommit(std::move(opened.db)) : GroupCommit(maker(std::move(file), loop.clock())),
            Writer::Runs::kOnThread, options) {}

  Task<Result<std::vector<Record>>> scan(std::string space, std::optional<RecordKey> after,
                                         size_t limit) override {
    if (!writer_) return refuse<std::vector<Record>>(closed());
    if (empty_) return none();
    // With the writer, so that it sees what is queued; owners scan only when they start.
    return writer_->write(Durability::kBarrier, 0,
                          [space = std::move(space), after = std::move(after), limit](Connection& db) {
                            return read_page(db, space, after, limit);
                          });
  }

  Task<Result<>> commit(std::vector<RecordChange> changes) override {
    if (!writer_) return refuse<void>(closed());
    if (Result<> valid = check_records(changes); !valid) return refuse<void>(std::move(valid.error()));
    size_t bytes = 0;
    for (const RecordChange& change : changes)
      bytes += change.space.size() + change.key.size() + (change.value ? change.value->size() : 0);
    empty_ = false;
    return writer_->write(Durability::kBarrier, bytes, [changes = std::move(changes)](Connection& db) {
      return write_changes(db, changes);
    });
  }

  Task<> close() override {
    writer_.reset();
    lock_.reset();
    co_return;
  }

 private:
  // The lock goes last: the next owner finds a file that is at rest.
  std::optional<os::FileLock> lock_;
  bool empty_;  // there is no file, and nothing was committed that makes one
  std::optional<Writer> writer_;
};

Task<Result<std::unique_ptr<Records>>> open_records(runtime::EventLoop& loop, runtime::Pool& pool,
                                                    WriterOptions options, std::filesystem::path file) {
  Result<Opened> opened =
      co_await pool.run([file, now = loop.clock().now()] { return open_locked(file, now); });
  if (!opened) co_return fail(std::move(opened.error()));
  co_return std::make_unique<RecordFile>(loop, std::move(file), std::move(*opened), options);
}

}  // namespace

OpenRecords records_opener(runtime::EventLoop& loop, runtime::Pool& pool, WriterOptions options) {
  return [&loop, &pool, options](std::filesystem::path file) {
    return open_records(loop, pool, options, std::move(file));
  };
}

}  // namespace chela::store::sqlite
