#include "store/sqlite/group_commit.h"

#include <iterator>

namespace chela::store::sqlite {

Jobs GroupCommit::run(Jobs jobs) {
  if (!kept_.empty()) {
    Jobs all = std::exchange(kept_, {});
    std::ranges::move(jobs, std::back_inserter(all));
    jobs = std::move(all);
  }
  Result<> done = open();
  if (done) done = db_->run("BEGIN IMMEDIATE");
  if (done) done = run_all(jobs);
  if (done) done = db_->run("COMMIT");
  if (done) return jobs;

  if (db_ && db_->in_transaction())
    (void)db_->run("ROLLBACK");  // a rollback that fails too has taken place: the log's tail is not valid
  Jobs failed;
  for (std::unique_ptr<Job>& job : jobs) {
    if (job->is_kept()) {
      kept_.push_back(std::move(job));
    } else {
      // Also a job that ended in an error of its own: that may rest on what a neighbour wrote and has now been taken back.
      job->fail(done.error());
      failed.push_back(std::move(job));
    }
  }
  return failed;
}

Result<> GroupCommit::open() {
  if (db_) return {};
  Result<std::unique_ptr<Connection>> opened = open_();
  if (!opened) return fail(std::move(opened.error()));
  db_ = std::move(*opened);
  return {};
}

// An error is one of the whole group.
Result<> GroupCommit::run_all(Jobs& jobs) {
  for (const std::unique_ptr<Job>& job : jobs) {
    Result<> done = db_->run("SAVEPOINT job");
    if (!done) return done;
    Result<> outcome = job->run(*db_);
    // A full disk or an I/O error can end the whole transaction.
    if (!db_->in_transaction()) {
      return outcome ? chela::fail(Code::kInternal, "a write ended the transaction of its group") : outcome;
    }
    if (!outcome) {
      if (job->is_kept()) return outcome;
      done = db_->run("ROLLBACK TO job");
    }
    if (done) done = db_->run("RELEASE job");
    if (!done) return done;
  }
  return {};
}

Jobs GroupCommit::abandon() {
  for (const std::unique_ptr<Job>& job : kept_)
    job->fail(Error{.code = Code::kUnavailable, .message = "the store is closed"});
  return std::exchange(kept_, {});
}

}  // namespace chela::store::sqlite
