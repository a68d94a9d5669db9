#include "bus/cron/cron.h"

#include "bus/bus_fixture.h"
#include "testing/memory_records.h"

namespace chela::bus::cron {
namespace {

using json::Value;

// A clock that somebody sets: timers do not notice.
class SetClock final : public runtime::EventLoop, public runtime::Clock {
 public:
  explicit SetClock(runtime::EventLoop& loop) : loop_(loop) {}
  void set_forward(std::chrono::milliseconds by) { ahead_ += by.count(); }

  void post(runtime::Callback callback) override { loop_.post(std::move(callback)); }
  runtime::TimerId call_at(SteadyTime when, runtime::Callback callback) override {
    return loop_.call_at(when, std::move(callback));
  }
  bool cancel(runtime::TimerId timer) override { return loop_.cancel(timer); }
  const runtime::Clock& clock() const override { return *this; }
  void run_until(const std::function<bool()>& done) override { loop_.run_until(done); }
  UnixMs now() const override { return loop_.clock().now() + ahead_; }
  SteadyTime steady() const override { return loop_.clock().steady(); }

 private:
  runtime::EventLoop& loop_;
  UnixMs ahead_ = 0;
};

// Time begins at 2026-01-01T00:00:00Z.
class CronTest : public BusTest {
 protected:
  CronTest() { start(); }
  // Providers live until the bus has stopped.
  ~CronTest() override { stop(); }

  void start(Missed missed = Missed::kSkip) {
    module = std::make_unique<Cron>(CronParts{.loop = clock,
                                              .bus = *bus,
                                              .metrics = metrics,
                                              .open = [this] { return records.opener()("cron"); }},
                                    missed);
    const Result<> started = runtime::block_on(loop, module->start());
    ASSERT_TRUE(started) << started.error().text();
  }
  void stop() {
    runtime::block_on(loop, module->stop());
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, bus->stop());
    module.reset();
  }
  void restart(std::chrono::milliseconds away = 0ms, Missed missed = Missed::kSkip) {
    stop();
    peers.clear();
    bus = std::make_unique<Bus>(BusParts{loop, ids, metrics}, BusOptions{.call_timeout = 10min});
    loop.advance(away);
    start(missed);
  }
  static void schedule(Peer& peer, std::string_view id, std::string_view expression,
                       Value more = Value::object(), std::string_view function_id = "tick") {
    Value config = std::move(more);
    config.set("expression", expression);
    peer.tell(Value::object({{"type", "registertrigger"},
                             {"id", id},
                             {"trigger_type", "cron"},
                             {"function_id", function_id},
                             {"config", std::move(config)}}));
  }
  // The scheduled times of all runs since the last look, answered at once.
  std::string runs(Peer& peer) {
    std::string all;
    while (true) {
      loop.run_ready();
      const Value call = peer.next("invokefunction");
      if (call.is_null()) return all;
      if (!all.empty()) all += ' ';
      all += call.find("data")->string_or("scheduled_time").substr(11, 8);
      answer(peer, call);
    }
  }
  static void answer(Peer& peer, const Value& call) {
    peer.tell(Value::object({{"type", "invocationresult"},
                             {"invocation_id", call.string_or("invocation_id")},
                             {"function_id", call.string_or("function_id")},
                             {"result", true}}));
  }
  std::string refusal(Peer& peer) {
    const Value frame = peer.next("triggerregistrationresult");
    const Value* error = frame.find("error");
    return error == nullptr ? "" : error->string_or("message");
  }

  SetClock clock{loop};
  testing::MemoryRecords records{loop};
  std::unique_ptr<Cron> module;
};

TEST_F(CronTest, RunsWhenTheTimeHasCome) {
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "*/10 * * * * *");
  loop.advance(9999ms);
  EXPECT_EQ(runs(a), "");
  loop.advance(1ms);
  const Value call = a.next("invokefunction");
  EXPECT_EQ(
      json::write(*call.find("data")),
      R"({"trigger":"cron","job_id":"t1","scheduled_time":"2026-01-01T00:00:10.000Z","actual_time":"2026-01-01T00:00:10.000Z"})");
  answer(a, call);
  loop.advance(10s);
  EXPECT_EQ(runs(a), "00:00:20");
  a.tell(Value::object({{"type", "unregistertrigger"}, {"id", "t1"}}));
  loop.advance(1h);
  EXPECT_EQ(runs(a), "");
  EXPECT_EQ(module->status().int_or("jobs", -1), 0);
}

TEST_F(CronTest, RunsByTheClockOfAZone) {
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "0 9 * * *", Value::object({{"timezone", "Asia/Tokyo"}}));
  loop.advance(24h);
  const Value call = a.next("invokefunction");
  EXPECT_EQ(call.find("data")->string_or("scheduled_time"), "2026-01-02T00:00:00.000Z");
}

TEST_F(CronTest, AConditionThatIsAskedDoesNotHoldUpTheEnd) {
  Peer& a = join();
  a.provide("tick");
  a.provide("if");
  schedule(a, "t1", "* * * * * *", Value::object({{"condition_function_id", "if"}}));
  loop.advance(1s);
  EXPECT_EQ(a.next("invokefunction").string_or("function_id"), "if");
  const SteadyTime before = loop.clock().steady();
  restart();
  EXPECT_EQ(loop.clock().steady(), before);
}

TEST_F(CronTest, DifferentMetadataAreDifferentJobs) {
  Peer& a = join();
  a.provide("tick");
  for (const std::string_view id : {"t1", "t2", "t3"}) {
    a.tell(Value::object({{"type", "registertrigger"},
                          {"id", id},
                          {"trigger_type", "cron"},
                          {"function_id", "tick"},
                          {"config", Value::object({{"expression", "* * * * * *"}})},
                          {"metadata", Value::object({{"for", id == "t3" ? "t2" : id}})}}));
  }
  EXPECT_EQ(module->status().int_or("jobs", 0), 2);
  loop.advance(1s);
  std::set<std::string> seen;
  for (Value call = a.next("invokefunction"); !call.is_null(); call = a.next("invokefunction")) {
    EXPECT_TRUE(seen.insert(call.find("metadata")->string_or("for")).second);
    answer(a, call);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"t1", "t2"}));
}

TEST_F(CronTest, RunsOfAJobNeverOverlap) {
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "* * * * * *");
  loop.advance(1s);
  const Value first = a.next("invokefunction");
  ASSERT_FALSE(first.is_null());
  loop.advance(5s);
  EXPECT_TRUE(a.next("invokefunction").is_null());
  answer(a, first);
  loop.advance(1s);
  EXPECT_EQ(runs(a), "00:00:07");
}

TEST_F(CronTest, ARunThatLastsLongerThanItsTriggerKeepsTheJob) {
  Peer& a = join();
  Peer& b = join();
  b.provide("tick");
  schedule(a, "t1", "* * * * * *");
  loop.advance(1s);
  const Value first = b.next("invokefunction");
  a.leave();
  schedule(b, "t2", "* * * * * *");
  loop.advance(3s);
  EXPECT_TRUE(b.next("invokefunction").is_null());
  answer(b, first);
  loop.advance(1s);
  EXPECT_EQ(runs(b), "00:00:05");
}

TEST_F(CronTest, EqualTriggersAreOneJobThatOneOfThemRuns) {
  Peer& a = join({"bus:*"});
  Peer& b = join({"bus:*"});
  Peer& other = join({"bus:*"}, "bob");
  for (Peer* each : {&a, &b, &other}) {
    each->provide("tick");
    schedule(*each, "t", "0 * * * * *");
  }
  schedule(a, "t2", "0 * * * * *", Value::object({{"condition_function_id", "none"}}), "tock");
  loop.advance(60s);
  EXPECT_EQ(runs(a) + runs(b), "00:01:00");
  EXPECT_EQ(runs(other), "00:01:00");
  a.leave();
  loop.advance(60s);
  EXPECT_EQ(runs(b), "00:02:00");
}

TEST_F(CronTest, ATimeIsOnDiskBeforeItIsRun) {
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "* * * * * *");
  records.hold();
  loop.advance(1s);
  EXPECT_EQ(runs(a), "");
  records.release();
  EXPECT_EQ(runs(a), "00:00:01");
  records.failure = Error{.code = Code::kUnavailable, .message = "disk full"};
  loop.advance(1s);
  EXPECT_EQ(runs(a), "");
  records.failure.reset();
  loop.advance(1s);
  EXPECT_EQ(runs(a), "00:00:03");
}

TEST_F(CronTest, NoTimeIsRunTwiceAcrossARestart) {
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "0 * * * * *");
  loop.advance(60s);
  EXPECT_EQ(runs(a), "00:01:00");
  restart();
  Peer& b = join();
  b.provide("tick");
  schedule(b, "t9", "0 * * * * *");
  loop.advance(59s);
  EXPECT_EQ(runs(b), "");
  loop.advance(1s);
  EXPECT_EQ(runs(b), "00:02:00");
}

TEST_F(CronTest, MissedRunsAreSkippedUnlessOneIsWanted) {
  const Value once = Value::object({{"missed_runs", "once"}});
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "0 * * * * *");
  schedule(a, "t2", "0 * * * * *", once);
  loop.advance(60s);
  EXPECT_EQ(runs(a), "00:01:00 00:01:00");
  restart(10min + 30s);
  Peer& b = join();
  b.provide("tick");
  schedule(b, "t1", "0 * * * * *");
  loop.advance(0ms);
  EXPECT_EQ(runs(b), "00:11:00");  // 30 s late is not missed
  schedule(b, "t2", "0 * * * * *", once);
  loop.advance(0ms);
  EXPECT_EQ(runs(b), "00:02:00");  // one stands for ten
  loop.advance(30s);
  EXPECT_EQ(runs(b), "00:12:00 00:12:00");
}

TEST_F(CronTest, AJobThatNeverRanMayHaveMissedItsFirstRun) {
  restart(0ms, Missed::kOnce);
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "0 0 1 * * *");
  loop.advance(10min);
  restart(2h, Missed::kOnce);
  Peer& b = join();
  b.provide("tick");
  schedule(b, "t1", "0 0 1 * * *");
  loop.advance(0ms);
  EXPECT_EQ(runs(b), "01:00:00");
  loop.advance(1h);
  EXPECT_EQ(runs(b), "");
}

TEST_F(CronTest, AClockThatIsSetIsNoticedSoon) {
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "0 0 2 * * *");
  clock.set_forward(2h - 10s);
  loop.advance(kClockCheck);
  EXPECT_EQ(runs(a), "02:00:00");
}

TEST_F(CronTest, ALittleLateIsNotMissed) {
  for (const auto late : {std::chrono::milliseconds(kLateRun), std::chrono::milliseconds(kLateRun) + 1ms}) {
    Peer& a = join();
    a.provide("tick");
    schedule(a, "t", "0 0 * * * *");
    const UnixMs now = loop.clock().now();
    loop.manual_clock().advance(std::chrono::milliseconds(3'600'000 - now % 3'600'000) + late);
    loop.advance(0ms);
    EXPECT_EQ(runs(a).empty(), late > kLateRun);
    a.leave();
  }
}

TEST_F(CronTest, AfterASleepOneRunStandsForAll) {
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "* * * * * *");
  schedule(a, "t2", "0 0 5 * * *");
  loop.advance(1s);
  EXPECT_EQ(runs(a), "00:00:01");
  // The clock goes on while no timer does.
  loop.manual_clock().advance(6h);
  loop.advance(0ms);
  EXPECT_EQ(runs(a), "");  // both are too late
  loop.advance(1s);
  EXPECT_EQ(runs(a), "06:00:02");
}

TEST_F(CronTest, AConditionDecides) {
  Peer& a = join();
  a.provide("tick");
  a.provide("if");
  schedule(a, "t1", "* * * * * *", Value::object({{"_condition_path", "if"}}));
  loop.advance(1s);
  EXPECT_EQ(a.serve(false), "if");
  EXPECT_TRUE(a.next("invokefunction").is_null());
  loop.advance(1s);
  EXPECT_EQ(a.serve(true), "if");
  EXPECT_EQ(runs(a), "00:00:02");
}

TEST_F(CronTest, SaysWhatIsWrong) {
  Peer& a = join();
  schedule(a, "t1", "61 * * * * *");
  EXPECT_NE(refusal(a).find("Invalid cron expression"), std::string::npos);
  schedule(a, "t2", "* * * * * *", Value::object({{"timezone", "Mars/Olympus"}}));
  EXPECT_NE(refusal(a).find("Mars/Olympus"), std::string::npos);
  schedule(a, "t3", "* * * * * *", Value::object({{"missed_runs", "all"}}));
  EXPECT_NE(refusal(a).find("skip or once"), std::string::npos);
  a.tell(Value::object({{"type", "registertrigger"},
                        {"id", "t4"},
                        {"trigger_type", "cron"},
                        {"function_id", "f"},
                        {"config", 3}}));
  EXPECT_NE(refusal(a), "");
  EXPECT_EQ(module->status().int_or("jobs", -1), 0);
}

TEST_F(CronTest, JobsAndTheirRecordsAreLimited) {
  std::vector<Peer*> owners;
  for (size_t i = 0; i < kMaxJobs; ++i) {
    if (i % kMaxUserJobs == 0) owners.push_back(&join({"bus:*"}, fmt::format("user{}", i)));
    schedule(*owners.back(), fmt::format("t{}", i), "@yearly", Value::object({{"n", i}}));
    if (i + 1 == kMaxUserJobs) {
      schedule(*owners.back(), "mine", "@yearly");
      EXPECT_NE(refusal(*owners.back()).find("jobs of yours"), std::string::npos);
      owners.back()->say(R"({"type":"unregistertrigger","id":"t0"})");
      schedule(*owners.back(), "instead", "@yearly");
      EXPECT_EQ(refusal(*owners.back()), "");
    }
  }
  EXPECT_EQ(refusal(*owners.back()), "");
  schedule(join({"bus:*"}, "late"), "more", "@yearly");
  EXPECT_NE(refusal(*peers.back()).find("which is the limit"), std::string::npos);
  restart();
  for (size_t i = 0; i < kMaxJobRecords; ++i)
    records.rows("cron")[{.space = "jobs", .key = fmt::format("k{}", i)}] =
        fmt::format(R"({{"settled":{}}})", i);
  restart();
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "* * * * * *");
  loop.advance(1s);
  EXPECT_EQ(runs(a), "00:00:01");
  EXPECT_EQ(records.rows("cron").size(), kMaxJobRecords);
  EXPECT_FALSE(records.rows("cron").contains({.space = "jobs", .key = "k0"}));
}

// What was recorded by a clock that was ahead: a little, and its times are not run again; far, and it is not believed.
TEST_F(CronTest, AClockThatWasFarAheadStopsNothing) {
  Peer& a = join();
  a.provide("tick");
  schedule(a, "t1", "* * * * * *");
  loop.advance(1s);
  EXPECT_EQ(runs(a), "00:00:01");
  for (const auto ahead :
       {std::chrono::milliseconds(kClockStep), std::chrono::milliseconds(kClockStep) + 1ms}) {
    for (auto& [key, value] : records.rows("cron"))
      value = fmt::format(R"({{"settled":{}}})", loop.clock().now() + ahead.count());
    restart();
    Peer& b = join();
    b.provide("tick");
    schedule(b, "t1", "* * * * * *");
    loop.advance(1s);
    EXPECT_EQ(runs(b).empty(), ahead == kClockStep);
  }
}

}  // namespace
}  // namespace chela::bus::cron
