#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "store/records.h"

namespace chela::testing {

// Files of records in memory, which can fail and can make commits wait as a disk does. Outlives what it opens. Loop thread only.
class MemoryRecords {
 public:
  explicit MemoryRecords(runtime::EventLoop& loop) : loop_(loop) {}
  MemoryRecords(const MemoryRecords&) = delete;
  MemoryRecords& operator=(const MemoryRecords&) = delete;

  store::OpenRecords opener();

  using Rows = std::map<store::RecordKey, std::string>;
  Rows& rows(const std::filesystem::path& file) { return files_[file]; }

  // While true, commits are queued and not answered; release() ends it and answers them in order.
  void hold() { held_ = true; }
  void release();
  // While set, whatever is committed fails with it and changes nothing; also held commits, when they are released.
  std::optional<Error> failure;
  int commits = 0;  // that were made

 private:
  class File;
  struct Commit {
    std::filesystem::path file;
    std::vector<store::RecordChange> changes;
    runtime::Completion<Result<>> done;
  };
  void finish(Commit commit);
  static Task<Result<std::unique_ptr<store::Records>>> open(MemoryRecords& all, std::filesystem::path file);

  runtime::EventLoop& loop_;
  std::map<std::filesystem::path, Rows> files_;
  std::set<std::filesystem::path> open_;
  bool held_ = false;
  std::vector<Commit> waiting_;
};

}  // namespace chela::testing
