#include "store/sqlite/records.h"

#include <filesystem>
#include <fstream>

#include "store/records_conformance.h"
#include "store/sqlite/test_stores.h"
#include "testing/manual_loop.h"

namespace chela::store {
namespace {

class FileFixture final : public RecordsFixture {
 public:
  runtime::EventLoop& loop() override { return loop_; }
  const OpenRecords& open() override { return open_; }
  std::filesystem::path folder() override { return dir_.file("data"); }

 private:
  sqlite::TempDir dir_;
  testing::ManualLoop loop_;
  runtime::Pool pool_{loop_, 2};
  OpenRecords open_ = sqlite::records_opener(loop_, pool_);
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(SqliteFile, RecordsConformance,
                         ::testing::Values([]() -> std::unique_ptr<RecordsFixture> {
                           return std::make_unique<FileFixture>();
                         }));

namespace sqlite {
namespace {

TEST(RecordFile, AFileOfAnotherProgramIsRefusedAndStaysAsItIs) {
  const TempDir dir;
  testing::ManualLoop loop;
  runtime::Pool pool(loop, 1);
  const std::string path = dir.file("r.db");
  std::ofstream(path)
      << "not a database, but long enough to be taken for one by its size alone, if that were all";
  const Result<std::unique_ptr<Records>> opened = runtime::block_on(loop, records_opener(loop, pool)(path));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kInvalidArgument) << opened.error().text();
  std::string content;
  std::getline(std::ifstream(path), content);
  EXPECT_EQ(content.substr(0, 14), "not a database");
}

TEST(RecordFile, AFolderThatCannotBeMadeIsNamed) {
  const TempDir dir;
  testing::ManualLoop loop;
  runtime::Pool pool(loop, 1);
  std::ofstream(dir.file("file")) << "x";
  const Result<std::unique_ptr<Records>> opened =
      runtime::block_on(loop, records_opener(loop, pool)(dir.file("file/data/r.db")));
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("file/data"), std::string::npos) << opened.error().message;
}

TEST(RecordFile, TheFirstCommitMakesTheFile) {
  const TempDir dir;
  testing::ManualLoop loop;
  runtime::Pool pool(loop, 1);
  const std::filesystem::path path = dir.file("r.db");
  std::unique_ptr<Records> records = runtime::block_on(loop, records_opener(loop, pool)(path)).value();
  EXPECT_EQ(runtime::block_on(loop, records->scan("", std::nullopt, 10))->size(), 0U);
  runtime::block_on(loop, records->close());
  EXPECT_FALSE(std::filesystem::exists(path));

  records = runtime::block_on(loop, records_opener(loop, pool)(path)).value();
  EXPECT_TRUE(runtime::block_on(loop, records->commit({{"a", "1", "v"}})));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(runtime::block_on(loop, records->scan("", std::nullopt, 10))->size(), 1U);
}

TEST(RecordFile, AFileThatCannotBeMadeFailsCommitsUntilItCan) {
  const TempDir dir;
  testing::ManualLoop loop;
  runtime::Pool pool(loop, 1);
  const std::filesystem::path path = dir.file("r.db");
  const std::unique_ptr<Records> records = runtime::block_on(loop, records_opener(loop, pool)(path)).value();
  std::filesystem::create_directory(path);
  EXPECT_FALSE(runtime::block_on(loop, records->commit({{"a", "1", "v"}})));
  EXPECT_FALSE(runtime::block_on(loop, records->scan("", std::nullopt, 10)));
  std::filesystem::remove(path);
  EXPECT_TRUE(runtime::block_on(loop, records->commit({{"a", "1", "v"}})));
  EXPECT_EQ(runtime::block_on(loop, records->scan("", std::nullopt, 10))->size(), 1U);
}

TEST(RecordFile, AFullQueueIsRefusedAndTheQueuedOnesAreKept) {
  const TempDir dir;
  testing::ManualLoop loop;
  runtime::Pool pool(loop, 1);
  const std::unique_ptr<Records> records =
      runtime::block_on(loop, records_opener(loop, pool, {.max_queue = 2})(dir.file("r.db"))).value();
  std::vector<Task<Result<>>> commits;
  for (const char* key : {"1", "2", "3"}) commits.push_back(records->commit({{"a", key, "v"}}));
  const std::vector<Result<>> done = runtime::block_on(loop, runtime::gather(loop, std::move(commits)));
  EXPECT_TRUE(done[0]);
  EXPECT_TRUE(done[1]);
  EXPECT_EQ(done[2].error().code, Code::kUnavailable);
  EXPECT_EQ(runtime::block_on(loop, records->scan("", std::nullopt, 10))->size(), 2U);
}

}  // namespace
}  // namespace sqlite
}  // namespace chela::store
