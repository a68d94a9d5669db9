#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "store/sqlite/connection.h"

namespace chela::store::sqlite {

// One write. Created on the loop, run wherever the writer is, finished on the loop.
class Job {
 public:
  explicit Job(size_t bytes) : bytes_(bytes) {}
  virtual ~Job() = default;
  // Inside a savepoint of its own: after an error nothing of it remains.
  virtual Result<> run(Connection& db) = 0;
  // The transaction was not committed; replaces the outcome of run().
  virtual void fail(const Error& error) = 0;
  // On the loop, after run() was committed or fail(): tells whoever waits.
  virtual void finish() = 0;
  // Later jobs rely on this one without waiting for it. It is never given up: while it cannot be committed, neither is what comes after.
  virtual bool is_kept() const { return false; }

  size_t bytes() const { return bytes_; }  // about how much memory it holds

 private:
  size_t bytes_;
};

using Jobs = std::vector<std::unique_ptr<Job>>;

// Runs jobs in groups of one transaction, so that they share one sync of the disk. Owned by the writer and used where it runs.
class GroupCommit {
 public:
  using Open = std::function<Result<std::unique_ptr<Connection>>()>;

  GroupCommit(std::unique_ptr<Connection> db) : db_(std::move(db)) {}
  // The first group opens the database; while that fails, so does every group.
  explicit GroupCommit(Open open) : open_(std::move(open)) {}

  // Runs the jobs in order and commits. Gives those that are done, committed or failed: all of them, except that kept ones of a failed
  // group stay here and lead the next.
  Jobs run(Jobs jobs);
  // Kept jobs that never made it, failed, when there will be no next group.
  Jobs abandon();

  bool is_open() const { return db_ != nullptr; }
  Connection& db() { return *db_; }

 private:
  Result<> open();
  Result<> run_all(Jobs& jobs);

  Open open_;
  std::unique_ptr<Connection> db_;
  Jobs kept_;
};

}  // namespace chela::store::sqlite
