#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/task.h"

namespace chela::store {

// The limits of records; apart from base/limits.h so that a change rebuilds only who uses them.
inline constexpr size_t kMaxRecordKeyBytes = 4096;  // of a space and of a key
inline constexpr size_t kMaxRecordBytes = 16 * 1024 * 1024;
inline constexpr size_t kMaxRecordChanges = 10'000;  // of one commit
inline constexpr size_t kMaxRecordPageBytes =
    4 * 1024 * 1024;  // of one scan; the record that passes it is the last

struct RecordKey {
  std::string space;
  std::string key;
  auto operator<=>(const RecordKey&) const = default;
};

struct Record {
  std::string space;
  std::string key;
  std::string value;
};

struct RecordChange {
  std::string space;
  std::string key;
  std::optional<std::string> value;  // nothing erases
};

// Small records of one owner, ordered by the bytes of (space, key). All parts are plain bytes; a space is not empty. What they mean is
// for the owner to know, who keeps his working set in memory and reads the records when he starts. Lives on the loop thread; the
// destructor does what close() does, but blocks.
class Records {
 public:
  virtual ~Records() = default;

  // At most `limit` records of a space ("" = of all), from the first one or the first behind `after`; fewer when they are large. None: that
  // was the end. Sees every commit() that was called before.
  virtual Task<Result<std::vector<Record>>> scan(std::string space, std::optional<RecordKey> after,
                                                 size_t limit) = 0;

  // Makes all changes, in their order, or none; they are on the disk when it returns. Queued at once, before the task is awaited: later
  // calls come later, and concurrent ones share one sync of the disk. kInvalidArgument and kTooLarge for what is no record,
  // kUnavailable when the disk or the queue is full.
  virtual Task<Result<>> commit(std::vector<RecordChange> changes) = 0;

  // Commits what is queued and lets go of the file. Calls fail from then on.
  virtual Task<> close() = 0;
};

// Opens or creates the file of records `file`, with its folders. kConflict when somebody has it open, in this process or another.
using OpenRecords = std::function<Task<Result<std::unique_ptr<Records>>>(std::filesystem::path file)>;

// kInvalidArgument, kTooLarge: what no adapter takes.
Result<> check_records(const std::vector<RecordChange>& changes);

// Gives each record of a space ("" = of all) to `visit`, in order; the first error ends it.
Task<Result<>> each_record(Records& records, std::string space, std::function<Result<>(Record)> visit);

}  // namespace chela::store
