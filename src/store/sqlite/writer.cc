#include "store/sqlite/writer.h"

#include <condition_variable>
#include <iterator>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "obs/log.h"

namespace chela::store::sqlite {

using runtime::EventLoop;
using runtime::TimerId;

// Shared with callbacks that are still queued on the loop when the writer goes.
struct Writer::Core : std::enable_shared_from_this<Core> {
  Core(EventLoop& l, GroupCommit c, Runs r, WriterOptions o)
      : loop(l), runs(r), options(o), commit(std::in_place, std::move(c)) {}

  EventLoop& loop;
  const Runs runs;
  const WriterOptions options;

  // Loop thread.
  Jobs gathered;      // not yet given to the writer
  size_t queued = 0;  // jobs that are not finished
  size_t queued_bytes = 0;
  bool flush_posted = false;
  std::optional<TimerId> lazy_timer;  // set while only lazy jobs are gathered
  std::optional<TimerId> idle_timer;  // set while a checkpoint waits for a pause
  bool closed = false;

  // Where the writer runs.
  std::optional<GroupCommit> commit;
  int checkpoint_at = 0;  // pages in the log
  bool checkpoint_fails = false;

  // Between them.
  std::mutex mutex;
  std::condition_variable wake;
  Jobs queue;
  bool checkpoint_wanted = false;
  bool stopping = false;
  std::thread thread;

  Result<> submit(std::unique_ptr<Job> job, Durability durability);
  void commit_soon();
  void flush();
  void finish(Jobs done, int wal_pages);
  void close();

  void work();
  void bound_log(int pages);
  void checkpoint(Connection::Checkpoint kind);
};

namespace {

// The first jobs of the queue, at most `most`.
Jobs take(Jobs& queue, size_t most) {
  if (queue.size() <= most) return std::exchange(queue, {});
  const auto end = queue.begin() + static_cast<std::ptrdiff_t>(most);
  Jobs group(std::make_move_iterator(queue.begin()), std::make_move_iterator(end));
  queue.erase(queue.begin(), end);
  return group;
}

}  // namespace

Result<> Writer::Core::submit(std::unique_ptr<Job> job, Durability durability) {
  if (queued >= options.max_queue || queued_bytes + job->bytes() > options.max_queue_bytes) {
    Error full{.code = Code::kUnavailable,
               .message = "too many writes wait for the disk; try again shortly",
               .retry_after = kStoreRetryAfter};
    return chela::fail(std::move(full));
  }
  ++queued;
  queued_bytes += job->bytes();
  gathered.push_back(std::move(job));
  // There is nothing to save by waiting in memory.
  const bool soon =
      durability == Durability::kBarrier || runs == Runs::kOnLoop || gathered.size() >= options.max_group;
  if (soon) {
    commit_soon();
  } else if (!flush_posted && !lazy_timer) {
    lazy_timer = loop.call_at(loop.clock().steady() + kMaxLazyDelay, [this] {
      lazy_timer.reset();
      flush();
    });
  }
  return {};
}

void Writer::Core::commit_soon() {
  if (flush_posted || gathered.empty()) return;
  // After what is queued on the loop now: writes of other tasks that are about to run join this group.
  flush_posted = true;
  loop.post([self = shared_from_this()] { self->flush(); });
}

void Writer::Core::flush() {
  flush_posted = false;
  if (lazy_timer) loop.cancel(*std::exchange(lazy_timer, std::nullopt));
  if (gathered.empty()) return;
  if (runs == Runs::kOnLoop) {
    while (!gathered.empty()) finish(commit->run(take(gathered, options.max_group)), 0);
    return;
  }
  {
    const std::lock_guard lock(mutex);
    std::ranges::move(std::exchange(gathered, {}), std::back_inserter(queue));
  }
  wake.notify_one();
  if (!thread.joinable()) thread = std::thread([this] { work(); });
}

void Writer::Core::finish(Jobs done, int wal_pages) {
  for (const std::unique_ptr<Job>& job : done) {
    --queued;
    queued_bytes -= job->bytes();
    job->finish();
  }
  if (wal_pages < kIdleCheckpointPages || idle_timer || closed) return;
  idle_timer = loop.call_at(loop.clock().steady() + kIdleCheckpointDelay, [this] {
    idle_timer.reset();
    if (queued > 0) return;  // the end of that work sets the timer again
    {
      const std::lock_guard lock(mutex);
      checkpoint_wanted = true;
    }
    wake.notify_one();
  });
}

void Writer::Core::close() {
  closed = true;
  if (idle_timer) loop.cancel(*idle_timer);
  flush();
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  wake.notify_one();
  if (thread.joinable()) thread.join();
  finish(commit->abandon(), 0);
  commit.reset();
}

// The writer's thread.
void Writer::Core::work() {
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [this] { return stopping || checkpoint_wanted || !queue.empty(); });
    if (!queue.empty()) {
      Jobs group = take(queue, options.max_group);
      lock.unlock();
      Jobs done = commit->run(std::move(group));
      const int pages = commit->is_open() ? commit->db().wal_pages() : 0;
      loop.post([self = shared_from_this(), jobs = std::move(done), pages]() mutable {
        self->finish(std::move(jobs), pages);
      });
      bound_log(pages);
      lock.lock();
    } else if (std::exchange(checkpoint_wanted, false)) {
      lock.unlock();
      checkpoint(Connection::Checkpoint::kPassive);
      lock.lock();
    } else if (stopping) {
      return;
    }
  }
}

// Keeps the write-ahead log short also when there is no pause. A checkpoint that fails loses nothing: the log only stays longer, and a
// later one copies the same pages.
void Writer::Core::bound_log(int pages) {
  if (pages < options.checkpoint_pages) checkpoint_at = options.checkpoint_pages;
  if (pages < checkpoint_at) return;
  checkpoint(Connection::Checkpoint::kPassive);
  // Readers that follow each other without a gap keep the log from starting anew: wait for them.
  if (pages >= kMaxWalFactor * options.checkpoint_pages) checkpoint(Connection::Checkpoint::kRestart);
  // Somebody who reads for long (a backup) makes this useless until it ends: not after every group then.
  checkpoint_at = pages + options.checkpoint_pages / kMaxWalFactor;
}

// One line when checkpoints begin to fail, not one for each: they are tried again after every few commits.
void Writer::Core::checkpoint(Connection::Checkpoint kind) {
  const Result<> done = commit->db().checkpoint(kind);
  if (!done && !checkpoint_fails) {
    log::warn("store",
              "the write-ahead log cannot be copied back into the database; it grows until that works",
              {{"error", done.error().text()}});
  } else if (done && checkpoint_fails) {
    log::info("store", "the write-ahead log is copied back into the database again");
  }
  checkpoint_fails = !done;
}

Writer::Writer(EventLoop& loop, GroupCommit commit, Runs runs, WriterOptions options)
    : loop_(loop), core_(std::make_shared<Core>(loop, std::move(commit), runs, options)) {}

Writer::~Writer() { core_->close(); }

Result<> Writer::submit(std::unique_ptr<Job> job, Durability durability) {
  return core_->submit(std::move(job), durability);
}

void Writer::commit_soon() { core_->commit_soon(); }

Connection& Writer::connection_on_loop() {
  CHELA_CHECK(core_->runs == Runs::kOnLoop, "the writer's connection belongs to its thread");
  return core_->commit->db();
}

}  // namespace chela::store::sqlite
