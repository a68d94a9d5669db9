#include "app/run_program.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "runtime/asio_loop.h"
#include "runtime/task_group.h"

namespace chela::app {
namespace {

class RunProgram : public ::testing::Test {
 protected:
  Result<ProgramResult> run(std::string script, std::chrono::milliseconds limit = 1h,
                            std::stop_token stop = {}) {
    return runtime::block_on(loop_, run_program(loop_, *poller_, {"sh", "-c", std::move(script)},
                                                {{"GIVEN", "yes"}}, limit, std::move(stop)));
  }
  std::string bytes(size_t count) { return fmt::format("head -c {} /dev/zero", count); }

  runtime::AsioLoop loop_;
  std::unique_ptr<os::Poller> poller_ = os::Poller::create(loop_).value();
};

TEST_F(RunProgram, GivesWhatItWroteAndItsStatus) {
  const Result<ProgramResult> done = run("echo $GIVEN; echo problem >&2; exit 3");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->out, "yes\n");
  EXPECT_EQ(done->err, "problem\n");
  EXPECT_EQ(done->status.code, 3);
}

TEST_F(RunProgram, ReadsSoMuchOfEachStream) {
  const Result<ProgramResult> fits = run(bytes(kMaxCommandOutput) + "; " + bytes(kMaxCommandOutput) + " >&2");
  ASSERT_TRUE(fits) << fits.error().text();
  EXPECT_EQ(fits->out.size(), kMaxCommandOutput);
  EXPECT_EQ(fits->err.size(), kMaxCommandOutput);
  // What goes on writing is ended.
  EXPECT_EQ(run(bytes(kMaxCommandOutput + 1) + "; exec sleep 1000").error().code, Code::kTooLarge);
  EXPECT_EQ(run("exec cat /dev/zero >&2").error().code, Code::kTooLarge);
}

TEST_F(RunProgram, EndsInTimeOrWhenTold) {
  EXPECT_EQ(run("exec sleep 1000", 20ms).error().code, Code::kTimeout);
  std::stop_source stop;
  loop_.post([&stop] { stop.request_stop(); });
  EXPECT_EQ(run("exec sleep 1000", 1h, stop.get_token()).error().code, Code::kCancelled);
  // It has closed its streams and still runs.
  EXPECT_EQ(run("exec >&- 2>&-; exec sleep 1000", 20ms).error().code, Code::kTimeout);
}

TEST_F(RunProgram, SaysThatThereIsNoSuchProgram) {
  EXPECT_EQ(
      runtime::block_on(loop_, run_program(loop_, *poller_, {"no-such-program"}, {}, 1h, {})).error().code,
      Code::kNotFound);
}

}  // namespace
}  // namespace chela::app
