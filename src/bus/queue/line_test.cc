#include "bus/queue/line.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <random>

namespace chela::bus::queue {
namespace {

std::vector<Seq> take_all(Line& line, UnixMs now = 0) {
  std::vector<Seq> taken;
  while (const std::optional<Seq> seq = line.take(now)) taken.push_back(*seq);
  return taken;
}

using Seqs = std::vector<Seq>;

TEST(QueueLine, AsManyRunAsMay) {
  Line line(2);
  for (Seq seq = 1; seq <= 4; ++seq) line.add({.seq = seq});
  EXPECT_EQ(take_all(line), (Seqs{1, 2}));
  EXPECT_FALSE(line.has_ready());
  line.finish(2);
  EXPECT_EQ(take_all(line), (Seqs{3}));
  line.finish(1);
  line.finish(3);
  EXPECT_EQ(take_all(line), (Seqs{4}));
  line.finish(4);
  EXPECT_EQ(line.size(), 0);
  line.set_concurrency(1);
  line.add({.seq = 5});
  line.add({.seq = 6});
  EXPECT_EQ(take_all(line), (Seqs{5}));
}

TEST(QueueLine, DelayedOnesComeInTime) {
  Line line(10);
  line.add({.seq = 1, .not_before = 500});
  line.add({.seq = 2, .not_before = 100});
  line.add({.seq = 3});
  EXPECT_EQ(take_all(line, 0), (Seqs{3}));
  EXPECT_EQ(line.next_at(), 100);
  EXPECT_EQ(take_all(line, 99), Seqs{});
  EXPECT_EQ(take_all(line, 100), (Seqs{2}));
  EXPECT_EQ(line.next_at(), 500);
  EXPECT_EQ(take_all(line, 9999), (Seqs{1}));
  EXPECT_EQ(line.next_at(), std::nullopt);
}

TEST(QueueLine, RetriedOnesKeepTheirPlace) {
  Line line(1);
  for (Seq seq = 1; seq <= 3; ++seq) line.add({.seq = seq});
  EXPECT_EQ(line.take(0), 1);
  line.retry(1, 50);
  EXPECT_EQ(line.take(0), 2);  // others go ahead meanwhile
  line.finish(2);
  EXPECT_EQ(line.take(60), 1);
}

TEST(QueueLine, GroupsRunOneAfterTheOtherAndBesideEachOther) {
  Line line(10);
  line.add({.seq = 1, .group = "a"});
  line.add({.seq = 2, .group = "b"});
  line.add({.seq = 3, .group = "a"});
  line.add({.seq = 4, .group = "b"});
  EXPECT_EQ(take_all(line), (Seqs{1, 2}));
  line.finish(2);
  EXPECT_EQ(take_all(line), (Seqs{4}));
  line.retry(1, 100);  // holds its group
  EXPECT_EQ(take_all(line, 99), Seqs{});
  EXPECT_EQ(take_all(line, 100), (Seqs{1}));
  line.finish(1);
  EXPECT_EQ(take_all(line, 100), (Seqs{3}));
  line.finish(3);
  line.finish(4);
  EXPECT_EQ(line.groups(), 0);
}

TEST(QueueLine, UrgentOnesGoFirst) {
  Line line(1);
  line.add({.seq = 1});
  line.add({.seq = 2, .priority = 5});
  line.add({.seq = 3, .priority = 5});
  Seqs order;
  while (const std::optional<Seq> seq = line.take(0)) {
    order.push_back(*seq);
    line.finish(*seq);
  }
  EXPECT_EQ(order, (Seqs{2, 3, 1}));
}

TEST(QueueLine, ParkedOnesWaitForWhatTheyMiss) {
  Line line(1);
  line.add({.seq = 1});
  line.add({.seq = 2});
  line.add({.seq = 3});
  EXPECT_EQ(line.take(0), 1);
  line.park(1, "f");
  EXPECT_EQ(line.take(0), 2);
  line.park(2, "g");
  EXPECT_EQ(line.parked(), (std::vector<std::string>{"f", "g"}));
  line.wake("nothing");
  EXPECT_EQ(line.take(0), 3);
  line.finish(3);
  EXPECT_EQ(line.take(0), std::nullopt);
  line.wake("f");
  EXPECT_EQ(line.take(0), 1);
  EXPECT_EQ(line.parked(), (std::vector<std::string>{"g"}));
  EXPECT_EQ(line.size(), 2);
}

// Whatever happens in whatever order: nothing is lost or doubled, no more run than may, and a group's messages end in order.
TEST(QueueLine, KeepsItsPromisesUnderAnySequence) {
  EXPECT_TRUE(rc::check([] {
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    const auto below = [&random](size_t end) { return static_cast<int>(random() % end); };
    const size_t concurrency = static_cast<size_t>(1 + below(4));
    const int count = 1 + below(39);
    Line line(concurrency);
    std::vector<Seq> running, finished;
    std::map<Seq, std::string> group_of;
    for (int i = 1; i <= count; ++i) {
      const int group = below(4);
      Ticket ticket{.seq = static_cast<Seq>(i), .priority = below(3), .not_before = below(3) * 10};
      if (group > 0) ticket.group = group_of[ticket.seq] = std::string(1, static_cast<char>('a' + group));
      line.add(ticket);
    }
    UnixMs now = 0;
    for (int steps = 0; finished.size() < static_cast<size_t>(count); ++steps) {
      RC_ASSERT(steps < 10'000);
      const bool settling = steps > 500;
      const int what = settling ? below(2) : below(5);
      if (what == 0 || running.empty()) {
        if (const std::optional<Seq> seq = line.take(now)) {
          running.push_back(*seq);
        } else if (running.empty()) {
          now += 10;
          for (const std::string& name : line.parked()) line.wake(name);
        }
        RC_ASSERT(line.running() == running.size() && running.size() <= concurrency);
        continue;
      }
      const size_t at = static_cast<size_t>(below(running.size()));
      const Seq seq = running[at];
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      if (what == 1 || what == 2) {
        line.finish(seq);
        finished.push_back(seq);
      } else if (what == 3) {
        line.retry(seq, now + 10);
      } else {
        line.park(seq, "x");
      }
    }
    RC_ASSERT(line.size() == 0 && line.running() == 0 && line.groups() == 0);
    std::map<std::string, Seq> last;
    for (const Seq seq : finished) {
      if (!group_of.contains(seq)) continue;
      RC_ASSERT(last[group_of[seq]] < seq);
      last[group_of[seq]] = seq;
    }
    std::ranges::sort(finished);
    RC_ASSERT(std::ranges::adjacent_find(finished) == finished.end());
  }));
}

}  // namespace
}  // namespace chela::bus::queue
