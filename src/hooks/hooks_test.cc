#include "hooks/hooks.h"

#include <gtest/gtest.h>

#include "runtime/sleep.h"
#include "testing/manual_loop.h"

namespace chela::hooks {
namespace {

using namespace std::chrono_literals;
using testing::ManualLoop;

// Appends its word, rejects, fails or dawdles.
class Scripted final : public Hook {
 public:
  Scripted(runtime::EventLoop& loop, std::string word) : loop_(loop), word_(std::move(word)) {}

  Task<Result<Verdict>> run(Point, Event event, std::stop_token stop) override {
    ++calls;
    if (deaf) stop = {};
    const Result<> slept = co_await runtime::sleep_for(loop_, delay, stop);
    if (!slept) co_return fail(slept.error());
    if (word_ == "reject") co_return Verdict{.rejected = "no"};
    if (word_ == "fail") co_return fail(Code::kInternal, "broken");
    co_return Verdict{.modified = event.content + word_};
  }

  int calls = 0;
  std::chrono::milliseconds delay = 0ms;
  bool deaf = false;

 private:
  runtime::EventLoop& loop_;
  std::string word_;
};

class ChainTest : public ::testing::Test {
 protected:
  std::shared_ptr<Scripted> add(std::string name, std::string word, int priority = kDefaultPriority,
                                OnFailure on_failure = OnFailure::kOpen) {
    auto hook = std::make_shared<Scripted>(loop, std::move(word));
    chain.add({.name = std::move(name),
               .points = {Point::kBeforeInbound, Point::kOnSessionStart},
               .priority = priority,
               .on_failure = on_failure,
               .hook = hook});
    return hook;
  }
  Outcome run(Point point = Point::kBeforeInbound, std::stop_token stop = {}) {
    return runtime::block_on(loop, chain.run(point, Event{.content = "a"}, std::move(stop)));
  }
  void TearDown() override { runtime::block_on(loop, chain.close()); }

  ManualLoop loop;
  Chain chain{loop};
};

TEST_F(ChainTest, WithoutHooksEverythingPasses) {
  const Outcome outcome = run();
  EXPECT_EQ(outcome.content, "a");
  EXPECT_FALSE(outcome.modified);
  EXPECT_FALSE(outcome.rejected);
  EXPECT_FALSE(chain.any(Point::kBeforeInbound));
}

TEST_F(ChainTest, ChangesChainInOrderOfPriorityThenName) {
  add("z", "3", 50);
  add("b", "2", 10);
  add("a", "1", 10);
  EXPECT_EQ(run().content, "a123");
  EXPECT_TRUE(run().modified);
  EXPECT_EQ(run(Point::kBeforeOutbound).content, "a");
  EXPECT_TRUE(chain.any(Point::kBeforeInbound));
  EXPECT_FALSE(chain.any(Point::kBeforeOutbound));
}

TEST_F(ChainTest, SameNameReplaces) {
  add("a", "1");
  add("a", "2");
  EXPECT_EQ(run().content, "a2");
  EXPECT_TRUE(chain.remove("a"));
  EXPECT_FALSE(chain.remove("a"));
  EXPECT_EQ(run().content, "a");
}

TEST_F(ChainTest, RejectStopsTheChain) {
  add("a", "1", 1);
  add("b", "reject", 2);
  const auto last = add("c", "3", 3);
  const Outcome outcome = run();
  EXPECT_EQ(outcome.rejected, "no");
  EXPECT_EQ(outcome.content, "a");
  EXPECT_EQ(last->calls, 0);
}

TEST_F(ChainTest, FailureOpensOrCloses) {
  add("a", "fail", 1, OnFailure::kOpen);
  add("b", "2", 2);
  EXPECT_EQ(run().content, "a2");
  add("c", "fail", 3, OnFailure::kClosed);
  EXPECT_EQ(run().rejected, "the hook c failed");
}

TEST_F(ChainTest, ATimeoutIsAFailureAlsoOfAHookThatDoesNotListen) {
  const auto slow = add("a", "1", 1, OnFailure::kClosed);
  slow->delay = 1h;
  slow->deaf = true;
  const SteadyTime start = loop.clock().steady();
  EXPECT_EQ(run().rejected, "the hook a failed");
  EXPECT_EQ(loop.clock().steady() - start, 5s);
}

TEST_F(ChainTest, SessionPointsOnlyTell) {
  add("a", "reject", 1);
  const auto closed = add("b", "fail", 2, OnFailure::kClosed);
  add("c", "1", 3);
  const Outcome outcome = run(Point::kOnSessionStart);
  EXPECT_FALSE(outcome.rejected);
  EXPECT_EQ(outcome.content, "a");
  EXPECT_EQ(closed->calls, 1);
}

TEST_F(ChainTest, AStopPassesTheEventOn) {
  add("a", "1", 1)->delay = 1s;
  std::stop_source stop;
  loop.call_at(loop.clock().steady() + 10ms, [&] { stop.request_stop(); });
  const Outcome outcome = run(Point::kBeforeInbound, stop.get_token());
  EXPECT_FALSE(outcome.rejected);
  EXPECT_EQ(outcome.content, "a");
  EXPECT_FALSE(outcome.modified);
}

TEST(Point, NamesGoBothWays) {
  for (int i = 0; i <= static_cast<int>(Point::kTransformResponse); ++i) {
    EXPECT_EQ(point_from_name(point_name(static_cast<Point>(i))), static_cast<Point>(i));
  }
  EXPECT_FALSE(point_from_name("before_inbound"));
}

}  // namespace
}  // namespace chela::hooks
