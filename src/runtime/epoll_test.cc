#include "runtime/epoll.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <thread>

#include "runtime/asio_loop.h"

namespace chela::runtime {
namespace {

using Side = Epoll::Side;
using namespace std::chrono_literals;

// Two ends of a stream; `mine` is watched.
class EpollTest : public ::testing::Test {
 protected:
  EpollTest() {
    int both[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both), 0);
    mine_ = both[0];
    theirs_ = both[1];
    key_ = epoll_.add(mine_);
  }
  ~EpollTest() override {
    epoll_.remove(key_);
    ::close(mine_);
    if (theirs_ >= 0) ::close(theirs_);
  }

  void say() const { EXPECT_EQ(::write(theirs_, "x", 1), 1); }
  void hear() const {
    char c = 0;
    EXPECT_EQ(::read(mine_, &c, 1), 1);
  }
  void leave() { ::close(std::exchange(theirs_, -1)); }
  void count(Side side, int& counter) {
    epoll_.wait(key_, side, [&counter] { ++counter; });
  }
  // Everything that is ready now, once.
  int run() {
    int ran = 0;
    epoll_.look(Epoll::Patience::kNone);
    for (Callback ready = epoll_.next(); ready; ready = epoll_.next()) {
      ready();
      ++ran;
    }
    return ran;
  }

  Epoll epoll_;
  int mine_ = -1;
  int theirs_ = -1;
  Epoll::Key key_ = 0;
  int reads_ = 0;
  int writes_ = 0;
};

TEST_F(EpollTest, CallsBackOnceForEachWait) {
  count(Side::kRead, reads_);
  EXPECT_EQ(run(), 0);
  say();
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(run(), 0) << "nobody waits";
  count(Side::kRead, reads_);
  EXPECT_EQ(run(), 1) << "what was not read is still there";
  hear();
  count(Side::kRead, reads_);
  EXPECT_EQ(run(), 0);
  say();
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(reads_, 3);
}

TEST_F(EpollTest, ASecondWaitTakesThePlaceOfTheFirst) {
  int first = 0;
  count(Side::kRead, first);
  count(Side::kRead, reads_);
  say();
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(reads_, 1);
}

TEST_F(EpollTest, BothSidesAreToldApart) {
  count(Side::kWrite, writes_);
  EXPECT_EQ(run(), 1);
  count(Side::kRead, reads_);
  EXPECT_EQ(run(), 0) << "it can be written, which nobody waits for any more";
  say();
  count(Side::kWrite, writes_);
  EXPECT_EQ(run(), 2);
  EXPECT_EQ(reads_, 1);
  EXPECT_EQ(writes_, 2);
}

TEST_F(EpollTest, WhoWaitsAgainFromItsCallbackIsCalledAtTheNextLook) {
  int left = 3;
  std::move_only_function<void()> again = [&] {
    if (--left > 0) epoll_.wait(key_, Side::kWrite, [&] { again(); });
  };
  epoll_.wait(key_, Side::kWrite, [&] { again(); });
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(run(), 0);
}

TEST_F(EpollTest, WhatTheKernelDoesNotWatchIsToldOnceForEachLook) {
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const Epoll::Key key = epoll_.add(file);
  int left = 9;
  std::move_only_function<void()> again = [&] {
    if (--left > 0) epoll_.wait(key, Side::kRead, [&] { again(); });
  };
  epoll_.wait(key, Side::kRead, [&] { again(); });
  count(Side::kRead, reads_);
  say();
  EXPECT_EQ(run(), 2) << "who waits again and again keeps nobody else waiting";
  EXPECT_EQ(reads_, 1);
  EXPECT_EQ(run(), 1);
  epoll_.remove(key);
  EXPECT_EQ(run(), 0);
  ::close(file);
}

TEST_F(EpollTest, WhatIsCancelledOrRemovedIsNotCalled) {
  count(Side::kRead, reads_);
  say();
  epoll_.cancel(key_, Side::kRead);
  EXPECT_EQ(run(), 0);
  count(Side::kRead, reads_);
  epoll_.look(Epoll::Patience::kNone);
  epoll_.remove(key_);
  EXPECT_FALSE(epoll_.next()) << "removed after it was ready";
  count(Side::kRead, reads_);
  EXPECT_EQ(run(), 0) << "its key is nobody's";
  EXPECT_EQ(reads_, 0);
}

TEST_F(EpollTest, AnOldKeyDoesNotReachWhoHasTheNumberNow) {
  const Epoll::Key old = key_;
  epoll_.remove(old);
  key_ = epoll_.add(mine_);
  count(Side::kRead, reads_);
  epoll_.cancel(old, Side::kRead);
  epoll_.remove(old);
  say();
  EXPECT_EQ(run(), 1);
}

TEST_F(EpollTest, ADescriptorThatWasClosedUnheardGivesItsNumberAway) {
  count(Side::kRead, reads_);
  key_ = epoll_.add(mine_);
  int newer = 0;
  count(Side::kRead, newer);
  say();
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(newer, 1);
  EXPECT_EQ(reads_, 0);
}

TEST_F(EpollTest, AHangUpIsBothAndIsNotToldToNobody) {
  count(Side::kRead, reads_);
  count(Side::kWrite, writes_);
  leave();
  EXPECT_EQ(run(), 2);
  // With nobody to tell, the kernel is not asked any more: an endless look would return at once otherwise.
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(run(), 0);
  count(Side::kRead, reads_);
  EXPECT_EQ(run(), 1) << "who comes late hears of it too";
  EXPECT_EQ(reads_, 2);
  EXPECT_EQ(writes_, 1);
}

TEST_F(EpollTest, WhatEpollDoesNotTakeIsReady) {
  epoll_.remove(key_);
  const int closed = ::dup(mine_);
  ::close(closed);
  key_ = epoll_.add(closed);
  count(Side::kRead, reads_);
  epoll_.look(Epoll::Patience::kEndless);
  while (Callback ready = epoll_.next()) ready();
  EXPECT_EQ(reads_, 1);
}

TEST_F(EpollTest, ACallbackOwnsWhatComesBackWhenItGoes) {
  struct Owner {
    Epoll& epoll;
    Epoll::Key key;
    ~Owner() { epoll.remove(key); }
  };
  epoll_.wait(key_, Side::kRead, [owner = std::make_unique<Owner>(epoll_, key_)] {});
  epoll_.remove(key_);
  key_ = epoll_.add(mine_);
  epoll_.wait(key_, Side::kRead, [owner = std::make_unique<Owner>(epoll_, key_)] {});
  epoll_.clear();
  say();
  EXPECT_EQ(run(), 0);
}

TEST(AsioLoop, PostingWithoutEndHoldsUpNoDescriptor) {
  AsioLoop loop;
  int both[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both), 0);
  const Epoll::Key key = loop.epoll().add(both[0]);
  size_t posted = 0;
  std::optional<size_t> ready_after;
  std::function<void()> again = [&] {
    if (++posted == 1) EXPECT_EQ(::write(both[1], "x", 1), 1);
    loop.post([&] { again(); });
  };
  loop.epoll().wait(key, Side::kRead, [&] { ready_after = posted; });
  loop.post([&] { again(); });
  loop.run_until([&] { return ready_after.has_value(); });
  EXPECT_EQ(*ready_after, AsioLoop::kCallbacksBetweenLooks);
  loop.epoll().remove(key);
  ::close(both[0]);
  ::close(both[1]);
}

TEST(AsioLoop, PostsOfAllThreadsKeepTheirOrder) {
  AsioLoop loop;
  std::vector<int> order;
  loop.post([&] {
    loop.post([&] { order.push_back(1); });
    std::thread([&] { loop.post([&] { order.push_back(2); }); }).join();
    loop.post([&] { order.push_back(3); });
  });
  loop.run_until([&] { return order.size() == 3; });
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(AsioLoop, APostOfAnotherThreadWakesIt) {
  AsioLoop loop;
  constexpr int kPosts = 1000;
  int seen = 0;
  std::thread poster([&] {
    for (int i = 0; i < kPosts; ++i) loop.post([&] { ++seen; });
  });
  loop.run_until([&] { return seen == kPosts; });
  poster.join();
}

TEST(AsioLoop, ATimerThatComesEarlierMovesTheKernelsTimer) {
  AsioLoop loop;
  std::vector<int> fired;
  const SteadyTime now = loop.clock().steady();
  loop.call_at(now + 10min, [&] { fired.push_back(9); });
  loop.call_at(now + 2ms, [&] {
    fired.push_back(2);
    loop.call_at(now + 4ms, [&] { fired.push_back(4); });
  });
  loop.call_at(now, [&] { fired.push_back(0); });
  loop.run_until([&] { return fired.size() == 3; });
  EXPECT_EQ(fired, (std::vector{0, 2, 4}));
}

TEST(AsioLoop, WhatItStillHasGoesWithIt) {
  // Callbacks whose owners come back to the loop when they go.
  struct Owner {
    AsioLoop& loop;
    TimerId timer;
    ~Owner() {
      loop.cancel(timer);
      loop.post([] {});
    }
  };
  auto loop = std::make_unique<AsioLoop>();
  const TimerId timer = loop->call_at(loop->clock().steady() + 1h, [] {});
  loop->post([owner = std::make_unique<Owner>(*loop, timer)] {});
  loop->call_at(loop->clock().steady() + 2h, [owner = std::make_unique<Owner>(*loop, timer)] {});
  loop.reset();
}

}  // namespace
}  // namespace chela::runtime
