#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "bus/queue/limits.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task_group.h"
#include "store/records.h"

namespace chela::bus::queue {

// Makes changes durable in batches: all that has come while one commit was on its way to the disk goes with the next. Changes that nobody
// waits for ride along. Whoever waits for a receipt goes on when he has it: the next commit waits a moment for those that the last one served.
// Without records everything is done at once and kept nowhere. Loop thread only; its owner awaits close().
class Journal {
 public:
  explicit Journal(runtime::EventLoop& loop) : loop_(loop), tasks_(loop) {}
  ~Journal();

  // Before anything else; at most once.
  void use(std::unique_ptr<store::Records> records) { records_ = std::move(records); }
  store::Records* records() { return records_.get(); }

  // On the disk when it returns; or an error, and nothing of it is. Takes the place of what later() was told of the same records.
  Task<Result<>> commit(std::vector<store::RecordChange> changes);
  // On the disk kLazyDelay later, or with a commit before; after an error it is tried again. The last change of a record counts.
  void later(store::RecordChange change);

  // Writes what is left, then closes the records. What cannot be written is logged.
  Task<> close();

  size_t lazy() const { return lazy_.size(); }

 private:
  using Changes = std::vector<store::RecordChange>;
  using Lazy = std::map<store::RecordKey, std::optional<std::string>>;
  struct Waiting {
    Changes changes;
    runtime::Completion<Result<>> done;
  };

  void write_soon(std::chrono::milliseconds delay);
  void start_writing();
  Task<> write_all();
  Task<> gather();
  Task<Result<>> write_batch();
  Lazy take_lazy(size_t room);

  runtime::EventLoop& loop_;
  std::unique_ptr<store::Records> records_;
  std::vector<Waiting> waiting_;
  Lazy lazy_;
  std::optional<runtime::TimerId> timer_;
  bool lazy_due_ = false;
  bool failing_ = false;  // the last write did
  bool writing_ = false;
  bool closed_ = false;
  size_t served_ = 0;            // that waited for the last commit, at most kMaxGathered
  SteadyTime served_at_{};       // when it was done
  SteadyTime::duration took_{};  // what it took
  std::optional<runtime::Completion<bool>> gathering_{};  // of as many as then
  runtime::TaskGroup tasks_;
};

}  // namespace chela::bus::queue
