// The fake that other folders test with does what the adapters do.

#include "store/records_conformance.h"
#include "testing/manual_loop.h"
#include "testing/memory_records.h"

namespace chela::store {
namespace {

class MemoryFixture final : public RecordsFixture {
 public:
  runtime::EventLoop& loop() override { return loop_; }
  const OpenRecords& open() override { return open_; }
  std::filesystem::path folder() override { return "data"; }

 private:
  testing::ManualLoop loop_;
  testing::MemoryRecords files_{loop_};
  OpenRecords open_ = files_.opener();
};

TEST(MemoryRecords, HeldCommitsWaitAndFailTogether) {
  testing::ManualLoop loop;
  testing::MemoryRecords files(loop);
  const std::unique_ptr<Records> records = runtime::block_on(loop, files.opener()("f")).value();
  files.hold();
  std::vector<Task<Result<>>> commits;
  for (const char* key : {"1", "2"}) commits.push_back(records->commit({{"a", key, "v"}}));
  EXPECT_TRUE(files.rows("f").empty());
  files.failure = Error{.code = Code::kUnavailable, .message = "disk full"};
  files.release();
  for (const Result<>& done : runtime::block_on(loop, runtime::gather(loop, std::move(commits))))
    EXPECT_EQ(done.error().message, "disk full");
  files.failure.reset();
  EXPECT_TRUE(runtime::block_on(loop, records->commit({{"a", "1", "v"}})));
  EXPECT_EQ(files.rows("f").size(), 1U);
  EXPECT_EQ(files.commits, 1);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Memory, RecordsConformance,
                         ::testing::Values([]() -> std::unique_ptr<RecordsFixture> {
                           return std::make_unique<MemoryFixture>();
                         }));

}  // namespace chela::store
