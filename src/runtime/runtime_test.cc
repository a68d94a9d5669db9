#include <gtest/gtest.h>

#include <set>

#include "runtime/asio_loop.h"
#include "runtime/channel.h"
#include "runtime/id_source.h"
#include "runtime/pool.h"
#include "runtime/sleep.h"
#include "runtime/stop_scope.h"
#include "runtime/task_group.h"
#include "testing/manual_loop.h"

namespace chela::runtime {
namespace {

using testing::ManualLoop;

Task<int> after(EventLoop& loop, std::chrono::milliseconds delay, int value) {
  const Result<> slept = co_await sleep_for(loop, delay, {});
  co_return slept ? value : -1;
}

TEST(Task, DeepChainsDoNotGrowTheStack) {
  ManualLoop loop;
  struct Count {
    static Task<int> down(int n) { co_return n == 0 ? 0 : 1 + co_await down(n - 1); }
    static Task<int> flat(int n) {
      int sum = 0;
      for (int i = 0; i < n; ++i) sum += co_await down(1);
      co_return sum;
    }
  };
  EXPECT_EQ(block_on(loop, Count::flat(200'000)), 200'000);
}

TEST(Gather, RunsConcurrentlyAndKeepsOrder) {
  ManualLoop loop;
  const SteadyTime start = loop.clock().steady();
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(after(loop, 50ms * (5 - i), i));
  EXPECT_EQ(block_on(loop, gather(loop, std::move(tasks))), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(loop.clock().steady() - start, 250ms);
}

TEST(Sleep, StopEndsItAtOnce) {
  ManualLoop loop;
  std::stop_source stop;
  loop.call_at(loop.clock().steady() + 10ms, [&] { stop.request_stop(); });
  const Result<> slept = block_on(loop, sleep_for(loop, 10s, stop.get_token()));
  ASSERT_FALSE(slept);
  EXPECT_EQ(slept.error().code, Code::kCancelled);
  loop.advance(1s);
}

TEST(StopScope, DeadlineAndParentStopIt) {
  ManualLoop loop;
  std::stop_source parent;
  StopScope timed(loop, parent.get_token(), loop.clock().steady() + 5ms);
  StopScope child(loop, parent.get_token());
  loop.advance(5ms);
  EXPECT_TRUE(timed.token().stop_requested());
  EXPECT_EQ(timed.reason("x").code, Code::kTimeout);
  EXPECT_FALSE(child.token().stop_requested());
  parent.request_stop();
  EXPECT_EQ(child.reason("x").code, Code::kCancelled);
  EXPECT_TRUE(child.token().stop_requested());
}

TEST(TaskGroup, JoinWaitsForAll) {
  ManualLoop loop;
  TaskGroup group(loop);
  int done = 0;
  struct Work {
    static Task<> one(EventLoop& l, int& counter, int ms) {
      co_await after(l, std::chrono::milliseconds(ms), 0);
      ++counter;
    }
  };
  for (int i = 1; i <= 3; ++i) group.spawn(Work::one(loop, done, i * 10));
  block_on(loop, group.join());
  EXPECT_EQ(done, 3);
}

TEST(Channel, IsBoundedAndKeepsOrder) {
  ManualLoop loop;
  Channel<int> channel(loop, 2);
  EXPECT_TRUE(channel.try_send(1));
  EXPECT_TRUE(channel.try_send(2));
  EXPECT_FALSE(channel.try_send(3));
  TaskGroup group(loop);
  struct Send {
    static Task<> one(Channel<int>& c, int v) {
      const Result<> sent = co_await c.send(v, {});
      EXPECT_TRUE(sent);
    }
  };
  group.spawn(Send::one(channel, 3));
  for (int want = 1; want <= 3; ++want) EXPECT_EQ(block_on(loop, channel.receive({})), want);
  block_on(loop, group.join());
  channel.close();
  EXPECT_EQ(block_on(loop, channel.receive({})), std::nullopt);
  EXPECT_FALSE(channel.try_send(4));
}

TEST(Channel, ACancelledReceiverLosesNothing) {
  ManualLoop loop;
  Channel<int> channel(loop, 2);
  std::stop_source stop;
  loop.call_at(loop.clock().steady() + 1ms, [&] { stop.request_stop(); });
  EXPECT_EQ(block_on(loop, channel.receive(stop.get_token())), std::nullopt);
  EXPECT_TRUE(channel.try_send(7));
  EXPECT_EQ(block_on(loop, channel.receive({})), 7);
}

TEST(Pool, RunsElsewhereAndResumesOnTheLoop) {
  AsioLoop loop;
  Pool pool(loop, 2);
  const auto here = std::this_thread::get_id();
  struct Check {
    static Task<bool> all(Pool& p, std::thread::id loop_thread) {
      const Result<std::thread::id> there =
          co_await p.run([]() -> Result<std::thread::id> { return std::this_thread::get_id(); });
      co_return *there != loop_thread&& std::this_thread::get_id() == loop_thread;
    }
  };
  EXPECT_TRUE(block_on(loop, Check::all(pool, here)));
}

TEST(Pool, RefusesWorkWhenItsQueueIsFull) {
  AsioLoop loop;
  std::mutex gate;
  {
    Pool pool(loop, 1);
    std::unique_lock hold(gate);
    Completion<bool> started(loop);
    ASSERT_TRUE(pool.submit([&gate, started] {
      started.resolve(true);
      const std::lock_guard wait(gate);
    }));
    struct Wait {
      static Task<> started(Completion<bool> c) { co_await c; }
    };
    block_on(loop, Wait::started(started));
    for (size_t i = 0; i < kMaxPoolQueue; ++i) ASSERT_TRUE(pool.submit([] {}));
    EXPECT_FALSE(pool.submit([] {}));
  }
}

TEST(AsioLoop, TimersFireInOrderAndCanBeCancelled) {
  AsioLoop loop;
  std::vector<int> fired;
  const SteadyTime now = loop.clock().steady();
  loop.call_at(now + 3ms, [&] { fired.push_back(3); });
  const TimerId cancelled = loop.call_at(now + 2ms, [&] { fired.push_back(2); });
  loop.call_at(now + 1ms, [&] { fired.push_back(1); });
  EXPECT_TRUE(loop.cancel(cancelled));
  EXPECT_FALSE(loop.cancel(cancelled));
  loop.run_until([&] { return fired.size() == 2; });
  EXPECT_EQ(fired, (std::vector{1, 3}));
}

TEST(IdSource, IdsAreUniqueAndOrderedAlsoWhenTheClockStands) {
  testing::ManualClock clock;
  RandomIdSource ids(clock);
  std::string last;
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) {
    const std::string id = ids.next();
    EXPECT_LT(last, id);
    EXPECT_TRUE(seen.insert(id).second);
    last = id;
  }
}

}  // namespace
}  // namespace chela::runtime
