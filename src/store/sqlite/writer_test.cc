#include "store/sqlite/writer.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "obs/log.h"
#include "runtime/task_group.h"
#include "store/sqlite/database.h"
#include "store/sqlite/test_stores.h"
#include "testing/manual_loop.h"

namespace chela::store::sqlite {
namespace {

using runtime::block_on;
using testing::ManualLoop;
using Runs = Writer::Runs;

class WriterTest : public ::testing::Test {
 protected:
  // A writer on a file with one table, whose commits are counted.
  std::unique_ptr<Writer> open(WriterOptions options = {}) {
    std::unique_ptr<Connection> db = Connection::open(path_, Connection::Access::kReadWrite).value();
    EXPECT_TRUE(db->use_wal());
    EXPECT_TRUE(db->run("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, text TEXT NOT NULL)"));
    sqlite3_commit_hook(
        db->handle(), [](void* count) { return ++*static_cast<std::atomic<int>*>(count), 0; }, &commits_);
    return std::make_unique<Writer>(loop_, std::move(db), Runs::kOnThread, options);
  }
  static auto insert(Writer& writer, int n, Durability durability = Durability::kBarrier, size_t bytes = 0) {
    return writer.write(durability, bytes,
                        [n](Connection& db) { return db.run("INSERT INTO t VALUES (?, 'x')", {n}); });
  }
  std::int64_t rows() {
    std::unique_ptr<Connection> db = Connection::open(path_, Connection::Access::kReadOnly).value();
    return **db->one("SELECT count(*) FROM t", {}, [](const Row& row) { return row.integer(0); });
  }

  TempDir dir_;
  const std::string path_ = dir_.file("t.db");
  ManualLoop loop_;
  std::atomic<int> commits_ = 0;
};

TEST_F(WriterTest, WritesOfOneTurnOfTheLoopShareACommit) {
  const std::unique_ptr<Writer> writer = open();
  std::vector<Task<Result<>>> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(insert(*writer, i));
  for (const Result<>& done : block_on(loop_, runtime::gather(loop_, std::move(tasks)))) EXPECT_TRUE(done);
  EXPECT_EQ(commits_, 1);
  EXPECT_EQ(rows(), 100);
}

TEST_F(WriterTest, AGroupHasALimit) {
  const std::unique_ptr<Writer> writer = open({.max_group = 10});
  std::vector<Task<Result<>>> tasks;
  for (int i = 0; i < 95; ++i) tasks.push_back(insert(*writer, i));
  for (const Result<>& done : block_on(loop_, runtime::gather(loop_, std::move(tasks)))) EXPECT_TRUE(done);
  EXPECT_EQ(commits_, 10);
}

TEST_F(WriterTest, AFailingWriteLeavesNothingAndSpoilsNothing) {
  const std::unique_ptr<Writer> writer = open();
  std::vector<Task<Result<>>> tasks;
  tasks.push_back(insert(*writer, 1));
  tasks.push_back(writer->write(Durability::kBarrier, 0, [](Connection& db) -> Result<> {
    Result<> done = db.run("INSERT INTO t VALUES (2, 'x')");
    EXPECT_TRUE(done);
    return fail(Code::kNotFound, "changed its mind");
  }));
  tasks.push_back(insert(*writer, 1));  // the key is taken
  tasks.push_back(insert(*writer, 3));
  const std::vector<Result<>> done = block_on(loop_, runtime::gather(loop_, std::move(tasks)));
  EXPECT_TRUE(done[0]);
  EXPECT_EQ(done[1].error().code, Code::kNotFound);
  EXPECT_EQ(done[2].error().code, Code::kConflict);
  EXPECT_TRUE(done[3]);
  EXPECT_EQ(rows(), 2);
  EXPECT_EQ(commits_, 1);
}

TEST_F(WriterTest, ALazyWriteWaitsForItsDelayOnly) {
  const std::unique_ptr<Writer> writer = open();
  Task<Result<>> lazy = insert(*writer, 1, Durability::kLazy);
  loop_.advance(kMaxLazyDelay - 1ms);
  EXPECT_EQ(commits_, 0);
  loop_.advance(1ms);
  EXPECT_TRUE(block_on(loop_, std::move(lazy)));
  EXPECT_EQ(commits_, 1);
}

TEST_F(WriterTest, ALazyWriteRidesWithTheNextBarrier) {
  const std::unique_ptr<Writer> writer = open();
  Task<Result<>> lazy = insert(*writer, 1, Durability::kLazy);
  EXPECT_TRUE(block_on(loop_, insert(*writer, 2)));
  EXPECT_EQ(commits_, 1);
  EXPECT_EQ(rows(), 2);
  EXPECT_TRUE(block_on(loop_, std::move(lazy)));
}

TEST_F(WriterTest, TheQueueIsBounded) {
  const std::unique_ptr<Writer> writer = open({.max_queue = 3, .max_queue_bytes = 100});
  std::vector<Task<Result<>>> tasks;
  for (int i = 0; i < 4; ++i) tasks.push_back(insert(*writer, i));
  std::vector<Result<>> done = block_on(loop_, runtime::gather(loop_, std::move(tasks)));
  EXPECT_TRUE(done[2]);
  ASSERT_FALSE(done[3]);
  EXPECT_EQ(done[3].error().code, Code::kUnavailable);
  EXPECT_EQ(done[3].error().retry_after, kStoreRetryAfter);

  tasks.clear();
  for (int i = 10; i < 13; ++i) tasks.push_back(insert(*writer, i, Durability::kBarrier, 40));
  done = block_on(loop_, runtime::gather(loop_, std::move(tasks)));
  EXPECT_TRUE(done[1]);
  EXPECT_FALSE(done[2]);
  EXPECT_TRUE(block_on(loop_, insert(*writer, 20, Durability::kBarrier, 100)));
  EXPECT_EQ(rows(), 6);
}

TEST_F(WriterTest, ClosingCommitsWhatIsQueued) {
  std::unique_ptr<Writer> writer = open();
  const Task<Result<>> barrier = insert(*writer, 1);
  const Task<Result<>> lazy = insert(*writer, 2, Durability::kLazy);
  writer.reset();
  EXPECT_EQ(rows(), 2);
  loop_.run_ready();  // what was posted meanwhile touches nothing that is gone
}

TEST_F(WriterTest, TheLogStaysShortUnderLoadAlsoBesideALongReader) {
  constexpr int kPages = 64;
  const std::unique_ptr<Writer> writer = open({.checkpoint_pages = kPages});
  const auto write_pages = [&](int from, int count) {
    for (int i = from; i < from + count; ++i) {
      ASSERT_TRUE(block_on(loop_, writer->write(Durability::kBarrier, 0, [i](Connection& db) {
        return db.run("INSERT INTO t VALUES (?, ?)", {i, std::string(10 * 4096, 'x')});
      })));
    }
  };
  const auto log_pages = [&] { return std::filesystem::file_size(path_ + "-wal") / 4096; };
  write_pages(0, 40);
  EXPECT_LT(log_pages(), 2U * kPages);
  {
    std::unique_ptr<Connection> reader = Connection::open(path_, Connection::Access::kReadOnly).value();
    const Result<Snapshot> snapshot = Snapshot::begin(*reader);
    ASSERT_TRUE(reader->one("SELECT count(*) FROM t", {}, [](const Row& row) { return row.integer(0); }));
    write_pages(40, kMaxWalFactor * kPages / 10 + 1);  // from here on readers are waited for, a moment
    EXPECT_GT(log_pages(), 1U * kPages);
    ASSERT_TRUE(snapshot);
  }
  const auto grown = log_pages();
  write_pages(66, 34);
  EXPECT_LE(log_pages(), grown + 2U * kPages);
  EXPECT_EQ(rows(), 100);
}

TEST_F(WriterTest, APauseCopiesTheLogBack) {
  std::unique_ptr<Writer> writer = open();
  const std::unique_ptr<Connection> other = Connection::open(path_, Connection::Access::kReadOnly).value();
  ASSERT_TRUE(other->one("SELECT count(*) FROM t", {}, [](const Row& row) { return row.integer(0); }));
  ASSERT_TRUE(block_on(loop_, writer->write(Durability::kBarrier, 0, [](Connection& db) {
    return db.run("INSERT INTO t VALUES (1, ?)", {std::string(4096 * (kIdleCheckpointPages + 10), 'x')});
  })));
  EXPECT_LT(std::filesystem::file_size(path_), 10U * 4096);
  loop_.advance(kIdleCheckpointDelay);
  writer.reset();  // joins; the other connection keeps this from copying at the close
  EXPECT_GT(std::filesystem::file_size(path_), 4096U * kIdleCheckpointPages);
}

// While it lives, no file of this process can grow: what a full disk is like.
class FullDisk {
 public:
  explicit FullDisk(rlim_t at) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{.rlim_cur = at, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

TEST_F(WriterTest, AFullDiskFailsTheWholeGroupAndNothingElse) {
  const std::unique_ptr<Writer> writer = open();
  EXPECT_TRUE(block_on(loop_, insert(*writer, 1)));
  {
    const FullDisk full(std::filesystem::file_size(path_ + "-wal"));
    std::vector<Task<Result<>>> tasks;
    tasks.push_back(insert(*writer, 2));
    tasks.push_back(insert(*writer, 1));  // would be a conflict
    tasks.push_back(insert(*writer, 3));
    for (const Result<>& done : block_on(loop_, runtime::gather(loop_, std::move(tasks)))) {
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, Code::kUnavailable);
      EXPECT_NE(done.error().message.find(path_), std::string::npos);
    }
    EXPECT_EQ(rows(), 1);
  }
  EXPECT_TRUE(block_on(loop_, insert(*writer, 2)));
  EXPECT_EQ(rows(), 2);
}

TEST_F(WriterTest, ALazyWriteIsCommittedAtOnceWhenSomebodyAsks) {
  const std::unique_ptr<Writer> writer = open();
  Task<Result<>> lazy = insert(*writer, 1, Durability::kLazy);
  writer->commit_soon();
  EXPECT_TRUE(block_on(loop_, std::move(lazy)));
  EXPECT_EQ(commits_, 1);
  writer->commit_soon();  // nothing waits
  loop_.advance(kMaxLazyDelay);
  EXPECT_EQ(commits_, 1);
}

TEST_F(WriterTest, CheckpointsThatFailAreToldOncePerStreak) {
  const std::string log_file = dir_.file("writer.log");
  ASSERT_TRUE(log::start({.file = log_file}));
  std::unique_ptr<Writer> writer = open({.checkpoint_pages = 32});
  char content = 'a';
  const auto write_row = [&](int row) {
    ++content;  // what stays the same is not written
    ASSERT_TRUE(block_on(loop_, writer->write(Durability::kBarrier, 0, [row, content](Connection& db) {
      return db.run("INSERT INTO t VALUES (?1, ?2) ON CONFLICT DO UPDATE SET text = ?2",
                    {row, std::string(10 * 4096, content)});
    })));
  };
  for (int row = 0; row < 60; ++row) write_row(row);
  for (int streak = 0; streak < 2; ++streak) {
    {
      // The log may grow, the end of the database cannot be written.
      const FullDisk full(std::filesystem::file_size(path_) / 3);
      for (int row = 40; row < 52; ++row) write_row(row);
    }
    write_row(59);
  }
  writer.reset();
  log::stop();
  std::ifstream file(log_file);
  int told = 0;
  for (std::string line; std::getline(file, line);)
    told += line.find("cannot be copied back") != std::string::npos ? 1 : 0;
  EXPECT_EQ(told, 2);
}

TEST_F(WriterTest, ABlobWhoseCommitFailedIsThereBeforeAnyRecordThatNamesIt) {
  runtime::Pool pool(loop_, 1);
  const std::string path = dir_.file("home.db");
  const Scope ann{.realm = "r", .user = "ann", .agent = "a"};
  {
    const std::unique_ptr<Database> db = Database::open(path, loop_, pool).value();
    ASSERT_TRUE(block_on(loop_, db->turn_log().ensure_thread({.id = "t", .scope = ann, .channel = "c"})));
    const AppendRequest naming{
        .scope = ann, .thread = "t", .records = {{.turn = "1", .kind = "k", .body = "{\"blob\":\"h\"}"}}};
    {
      const FullDisk full(std::filesystem::file_size(path + "-wal"));
      ASSERT_TRUE(block_on(loop_, db->blobs().put(ann, "h", "content")));
      const Result<Appended> failed = block_on(loop_, db->turn_log().append(naming));
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, Code::kUnavailable);
      EXPECT_EQ(block_on(loop_, db->blobs().get(ann, "h")).value(), "content");
    }
    const Result<Appended> appended = block_on(loop_, db->turn_log().append(naming));
    ASSERT_TRUE(appended);
    EXPECT_EQ(appended->records[0].seq, 1);
    EXPECT_EQ(appended->records[0].pos, 1);
  }
  const std::unique_ptr<Database> db = Database::open(path, loop_, pool).value();
  EXPECT_EQ(block_on(loop_, db->blobs().get(ann, "h")).value(), "content");
}

TEST(WriterOptions, BeginWithTheLimits) {
  const WriterOptions options;
  EXPECT_EQ(options.max_queue, kMaxWriteQueue);
  EXPECT_EQ(options.max_queue_bytes, kMaxWriteQueueBytes);
  EXPECT_EQ(options.max_group, kMaxGroupCommit);
  EXPECT_EQ(options.checkpoint_pages, kCheckpointPages);
}

}  // namespace
}  // namespace chela::store::sqlite
