#include "bus/queue/queue_fixture.h"

namespace chela::bus::queue {
namespace {

using json::Value;

class Topic : public QueueTest {
 protected:
  Topic() {
    settings.topics = Policy{.max_attempts = 2, .backoff = 100ms};
    start();
  }
};

Task<Result<Value>> answer_true() { co_return Value(true); }

std::string refusal(const Value& frame) {
  const Value* error = frame.find("error");
  return error == nullptr ? "" : error->string_or("message");
}

TEST_F(Topic, EverySubscriberGetsEveryMessageByBothNames) {
  Peer& a = join();
  Peer& b = join();
  a.provide("a::on");
  b.provide("b::on");
  subscribe(a, "t1", "news", "a::on", Value::object(), "queue");
  subscribe(b, "t2", "news", "b::on");
  EXPECT_EQ(publish(a, "news", Value::object({{"n", 1}})), "");
  a.call("enqueue", Value::object({{"topic", "news"}, {"data", 2}}));
  EXPECT_EQ(said(a.answer()), "");
  EXPECT_EQ(drain(a), R"({"n":1} 2)");
  EXPECT_EQ(drain(b), R"({"n":1} 2)");
  EXPECT_EQ(queues->messages(), 0);
}

TEST_F(Topic, SeveralWorkersOfOneFunctionAreOneSubscriber) {
  Peer& a = join();
  Peer& b = join();
  for (Peer* each : {&a, &b}) each->provide("on");
  subscribe(a, "t1", "news", "on");
  subscribe(b, "t2", "news", "on");
  publish(a, "news", 1);
  publish(a, "news", 2);
  EXPECT_EQ(drain(a) + drain(b), "12");
  a.leave();
  publish(b, "news", 3);
  EXPECT_EQ(drain(b), "3");
}

TEST_F(Topic, AMessageIsOnDiskForAllOrForNone) {
  Peer& a = join();
  a.provide("x");
  a.provide("y");
  subscribe(a, "t1", "news", "x");
  subscribe(a, "t2", "news", "y");
  loop.advance(kLazyDelay);
  records.failure = Error{.code = Code::kUnavailable, .message = "disk full"};
  EXPECT_EQ(publish(a, "news", 1), "enqueue_error: disk full");
  records.failure.reset();
  EXPECT_EQ(take(a), "");
  records.hold();
  EXPECT_EQ(publish(a, "news", 2), "no answer");
  records.release();
  EXPECT_EQ(said(a.answer()), "");
  EXPECT_EQ(stored(kMessages), 2);
  EXPECT_EQ(drain(a), "2 2");
}

TEST_F(Topic, WhatCameBeforeAnybodySubscribedWaitsForTheFirst) {
  Peer& a = join();
  publish(a, "news", 1);
  publish(a, "news", 2);
  crash();
  Peer& b = join();
  b.provide("b::on");
  b.provide("c::on");
  subscribe(b, "t1", "news", "b::on");
  EXPECT_EQ(drain(b), "1 2");
  subscribe(b, "t2", "news", "c::on");
  EXPECT_EQ(drain(b), "");
  loop.advance(kLazyDelay);
  EXPECT_EQ(stored(kMessages), 0);
}

TEST_F(Topic, ASubscriberThatComesWhileAMessageIsWrittenGetsIt) {
  Peer& a = join();
  a.provide("on");
  records.hold();
  EXPECT_EQ(publish(a, "news", 1), "no answer");
  subscribe(a, "t1", "news", "on");
  records.release();
  EXPECT_EQ(drain(a), "1");
}

TEST_F(Topic, ASubscriptionOutlivesItsConnection) {
  Peer& a = join();
  a.provide("a::on");
  subscribe(a, "t1", "news", "a::on");
  Peer& b = join();
  b.provide("b::on");
  subscribe(b, "t2", "news", "b::on");
  a.leave();
  publish(b, "news", 1);
  EXPECT_EQ(drain(b), "1");
  loop.advance(kLazyDelay);
  crash();
  Peer& c = join();
  publish(c, "news", 2);  // both are expected back
  c.provide("b::on");
  subscribe(c, "t3", "news", "b::on");
  EXPECT_EQ(drain(c), "2");
  c.provide("a::on");
  subscribe(c, "t4", "news", "a::on");
  EXPECT_EQ(drain(c), "1 2");
}

TEST_F(Topic, OneThatDoesNotComeBackGetsNothingNew) {
  Peer& a = join();
  a.provide("on");
  subscribe(a, "t1", "news", "on");
  a.leave();
  Peer& b = join();
  publish(b, "news", 1);
  loop.advance(std::chrono::milliseconds(kSubscriptionGrace) - 1ms);
  publish(b, "news", 2);
  loop.advance(1ms);
  publish(b, "news", 3);  // nobody's: waits for the next
  b.provide("other");
  subscribe(b, "t2", "news", "other");
  EXPECT_EQ(drain(b), "3");
  b.provide("on");
  subscribe(b, "t3", "news", "on");
  EXPECT_EQ(drain(b), "1 2");
}

TEST_F(Topic, TakingItBackEndsASubscription) {
  Peer& a = join();
  a.provide("x");
  a.provide("y");
  subscribe(a, "t1", "news", "x");
  subscribe(a, "t2", "news", "y");
  loop.advance(kLazyDelay);
  EXPECT_EQ(stored(kSubscribers), 2);
  a.tell(Value::object({{"type", "unregistertrigger"}, {"id", "t1"}}));
  publish(a, "news", 1);
  EXPECT_EQ(drain(a), "1");
  loop.advance(kLazyDelay);
  EXPECT_EQ(stored(kSubscribers), 1);
  EXPECT_EQ(queues->size(), 1);
}

TEST_F(Topic, ItsOwnPolicyHoldsAlsoAfterACrash) {
  Peer& a = join();
  a.provide("on");
  const Value config = *json::parse(R"({"queue_config":{"type":"fifo","maxRetries":3,"backoffType":"fixed",
                                        "backoffDelayMs":10,"delaySeconds":1}})");
  subscribe(a, "t1", "news", "on", config);
  loop.advance(kLazyDelay);
  crash();
  Peer& b = join();
  b.provide("on");
  publish(b, "news", 1);
  publish(b, "news", 2);
  subscribe(b, "t1", "news", "on", config);
  EXPECT_EQ(take(b), "");
  loop.advance(1s);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(take(b), "1");
    EXPECT_EQ(take(b), "");  // one line
    end(b, "no");
    loop.advance(10ms);
  }
  EXPECT_EQ(take(b), "1");
  end(b, "no");
  EXPECT_EQ(drain(b), "2");
  EXPECT_EQ(ask(b, "engine::queue::topic_stats", Value::object({{"topic", "news"}})).int_or("dlq_depth", 0),
            1);
}

TEST_F(Topic, AnAttemptMayHaveItsTime) {
  Peer& a = join();
  a.provide("on");
  subscribe(a, "t1", "news", "on",
            *json::parse(R"({"queue_config":{"visibilityTimeout":2,"backoffDelayMs":5,"maxRetries":2}})"));
  publish(a, "news", 1);
  EXPECT_EQ(take(a), "1");
  loop.advance(2s);
  loop.advance(5ms);
  EXPECT_EQ(take(a), "1");
  open.clear();
  loop.advance(2s);
  EXPECT_EQ(ask(a, "engine::queue::topic_stats", Value::object({{"topic", "news"}})).int_or("dlq_depth", 0),
            1);
}

TEST_F(Topic, AConditionDecides) {
  Peer& a = join();
  a.provide("on");
  a.provide("if");
  subscribe(a, "t1", "news", "on", Value::object({{"condition_function_id", "if"}}));
  publish(a, "news", 1);
  loop.run_ready();
  EXPECT_EQ(a.serve(false), "if");
  EXPECT_EQ(take(a), "");
  EXPECT_EQ(queues->messages(), 0);
  publish(a, "news", 2);
  loop.run_ready();
  EXPECT_EQ(a.serve(true), "if");
  EXPECT_EQ(drain(a), "2");
}

TEST_F(Topic, AConditionHasTheTimeOfAnAttemptAndEndsWithTheEngine) {
  Peer& a = join();
  a.provide("on");
  a.provide("if");
  subscribe(
      a, "t1", "news", "on",
      *json::parse(
          R"({"condition_function_id":"if","queue_config":{"visibilityTimeout":2,"backoffDelayMs":5,"maxRetries":2}})"));
  publish(a, "news", 1);
  EXPECT_EQ(take(a), "1");
  EXPECT_EQ(open.back().string_or("function_id"), "if");
  loop.advance(2s);
  loop.advance(5ms);
  EXPECT_EQ(take(a), "1");  // asked again
  EXPECT_EQ(open.back().string_or("function_id"), "if");
  const SteadyTime before = loop.clock().steady();
  stop();
  EXPECT_EQ(loop.clock().steady(), before);
  EXPECT_EQ(stored(kMessages), 1);
}

TEST_F(Topic, TriggersOfOneFunctionAreAskedInTurn) {
  Peer& a = join();
  for (const std::string_view id : {"on", "if::a", "if::b"}) a.provide(id);
  subscribe(a, "t1", "news", "on", Value::object({{"condition_function_id", "if::a"}}));
  subscribe(a, "t2", "news", "on", Value::object({{"condition_function_id", "if::b"}}));
  subscribe(a, "t3", "news", "on", Value::object({{"condition_function_id", "if::b"}}));
  publish(a, "news", 1);
  EXPECT_EQ(a.serve(false), "if::a");
  EXPECT_EQ(a.serve(true), "if::b");
  EXPECT_EQ(drain(a), "1");
  publish(a, "news", 2);
  EXPECT_EQ(a.serve(false), "if::a");
  EXPECT_EQ(a.serve(false), "if::b");  // and no condition twice
  EXPECT_EQ(take(a), "");
  EXPECT_EQ(queues->messages(), 0);
}

TEST_F(Topic, OneThatIsAwayKeepsNobodyElseFromHisMessages) {
  limits = {.messages = 2};
  crash();
  Peer& a = join();
  Peer& b = join();
  a.provide("a::on");
  b.provide("b::on");
  subscribe(a, "t1", "news", "a::on");
  subscribe(b, "t2", "news", "b::on");
  a.leave();
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(publish(b, "news", i), "");
    EXPECT_EQ(drain(b), std::to_string(i));
  }
  EXPECT_NE(metrics.render().find("chela_bus_queue_missed_total 1"), std::string::npos);
  Peer& c = join();
  c.provide("a::on");
  subscribe(c, "t3", "news", "a::on");
  EXPECT_EQ(drain(c), "1 2");
  // One that is there and too slow is waited for: nobody gets what it has no room for.
  EXPECT_EQ(publish(b, "news", 4), "");
  EXPECT_EQ(publish(b, "news", 5), "");
  EXPECT_EQ(drain(b), "4 5");
  EXPECT_EQ(publish(b, "news", 6).find("enqueue_error: the queue 'news' is full"), 0);
  EXPECT_EQ(drain(b), "");
  c.leave();
  b.leave();
  Peer& d = join();
  for (int i = 7; i <= 8; ++i) publish(d, "news", i);
  EXPECT_EQ(publish(d, "news", 9).find("enqueue_error: the queue 'news' is full"), 0);  // of all
}

TEST_F(Topic, NothingIsHandedOutBeforeAllModulesAreThere) {
  Peer& a = join();
  publish(a, "news", 1);
  enqueue(a, "default", "late::work", 2);
  const testing::MemoryRecords::Rows rows = records.rows("queues");
  stop();
  records.rows("queues") = rows;
  peers.clear();
  bus = std::make_unique<Bus>(BusParts{loop, ids, metrics}, BusOptions{.call_timeout = 60s});
  make();
  loop.run_ready();
  // As a module that starts after the queues does.
  int calls = 0;
  ASSERT_TRUE(bus->add({.spec = {.id = "late::work"}, .handler = [&calls](LocalCall) -> Task<Result<Value>> {
                          ++calls;
                          return answer_true();
                        }}));
  loop.run_ready();
  EXPECT_EQ(calls, 0);
  module->opened();
  loop.run_ready();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(queues->messages(), 1);
}

TEST_F(Topic, DeadOnesAreEachSubscribersOwn) {
  Peer& a = join();
  a.provide("good");
  a.provide("bad");
  subscribe(a, "t1", "news", "good");
  subscribe(a, "t2", "news", "bad");
  publish(a, "news", 1);
  for (int i = 0; i < 3; ++i) {
    if (take(a).empty()) break;
    const std::string function = open.front().string_or("function_id");
    end(a, function == "bad" ? "no" : "");
    loop.advance(100ms);
  }
  const Value dead = ask(a, "engine::queue::dlq_messages", Value::object({{"topic", "news"}}));
  ASSERT_EQ(dead.as_array()->size(), 1);
  EXPECT_EQ(dead.as_array()->front().string_or("function_id"), "bad");
  EXPECT_EQ(ask(a, "iii::queue::redrive", Value::object({{"topic", "news"}})).int_or("redriven", 0), 1);
  EXPECT_EQ(take(a), "1");
  EXPECT_EQ(open.front().string_or("function_id"), "bad");
  end(a);
}

TEST_F(Topic, ListsNameWhatThereIs) {
  Peer& a = join();
  a.provide("on");
  subscribe(a, "t1", "news", "on");
  const Value rows = ask(a, "engine::queue::list_topics");
  std::map<std::string, std::int64_t> counts;
  for (const Value& row : *rows.as_array())
    counts[row.string_or("kind") + " " + row.string_or("name")] = row.int_or("subscriber_count", -1);
  EXPECT_EQ(counts, (std::map<std::string, std::int64_t>{{"queue default", 1},
                                                         {"queue pay", 1},
                                                         {"queue single", 1},
                                                         {"queue urgent", 1},
                                                         {"topic news", 1}}));
  publish(a, "news", 1);
  const Value stats = ask(a, "engine::queue::topic_stats", Value::object({{"topic", "news"}}));
  EXPECT_EQ(stats.int_or("depth", 0), 1);
  EXPECT_EQ(stats.int_or("consumer_count", 0), 1);
  EXPECT_EQ(stats.find("config")->string_or("type"), "standard");
  EXPECT_EQ(ask(a, "engine::queue::topic_stats").as_string()->find("topic_required"), 0);
  EXPECT_EQ(drain(a), "1");
}

TEST_F(Topic, DeadOnesAreListedInPages) {
  Peer& a = join();
  a.provide("on");
  subscribe(a, "t1", "news", "on", *json::parse(R"({"max_retries":1})"));
  for (size_t i = 0; i < kMaxListed + 1; ++i) publish(a, "news", i);
  while (!take(a).empty()) end(a, "no");
  const auto page = [&](int offset, int limit) {
    const Value rows = ask(a, "engine::queue::dlq_messages",
                           Value::object({{"topic", "news"}, {"offset", offset}, {"limit", limit}}));
    return rows.as_array()->empty()
               ? std::pair<size_t, std::int64_t>(0, -1)
               : std::pair(rows.as_array()->size(), rows.as_array()->front().int_or("payload", -1));
  };
  EXPECT_EQ(page(0, 1'000'000), (std::pair<size_t, std::int64_t>(kMaxListed, 0)));
  EXPECT_EQ(page(1000, 50), (std::pair<size_t, std::int64_t>(1, 1000)));
  EXPECT_EQ(page(5, 2), (std::pair<size_t, std::int64_t>(2, 5)));
  EXPECT_EQ(page(-5, -1).first, 0);
  EXPECT_EQ(ask(a, "engine::queue::dlq_messages", Value::object({{"topic", "news"}})).as_array()->size(), 50);
}

TEST_F(Topic, ListsOfDeadOnesAreLimitedInBytes) {
  Peer& a = join();
  a.provide("on");
  subscribe(a, "t1", "news", "on", *json::parse(R"({"max_retries":1})"));
  for (const size_t bytes :
       {kMaxListedBytes + 1, kMaxListedBytes / 2, kMaxListedBytes / 4, kMaxListedBytes / 2}) {
    publish(a, "news", std::string(bytes, 'x'));
    take(a);
    end(a, "no");
  }
  const auto listed = [&](int offset) {
    return ask(a, "engine::queue::dlq_messages", Value::object({{"topic", "news"}, {"offset", offset}}))
        .as_array()
        ->size();
  };
  EXPECT_EQ(listed(0), 1);
  EXPECT_EQ(listed(1), 2);
  EXPECT_EQ(listed(3), 1);
}

TEST_F(Topic, WhatNobodyHadClaimedIsClaimedWithItsDead) {
  const QueueId unclaimed{.realm = "default", .user = "ann", .kind = QueueId::Kind::kTopic, .name = "news"};
  Message message{
      .seq = 1, .id = "dead", .sender = nullptr, .data = Payload::of_text("1"), .attempts = 2, .died_at = 1};
  put(put_message(unclaimed, message));
  put(put_attempts(message));
  put(put_message(unclaimed,
                  Message{.seq = 2, .id = "waits", .sender = nullptr, .data = Payload::of_text("2")}));
  crash();
  Peer& a = join();
  a.provide("on");
  subscribe(a, "t1", "news", "on");
  EXPECT_EQ(drain(a), "2");
  const Value rows = ask(a, "engine::queue::dlq_messages", Value::object({{"topic", "news"}}));
  ASSERT_EQ(rows.as_array()->size(), 1);
  EXPECT_EQ(rows.as_array()->front().string_or("function_id"), "on");
  EXPECT_EQ(ask(a, "iii::queue::redrive", Value::object({{"topic", "news"}})).int_or("redriven", 0), 1);
  EXPECT_EQ(drain(a), "1");
  loop.advance(kLazyDelay);
  EXPECT_EQ(stored(kMessages), 0);
}

TEST_F(Topic, RefusesWhatIsNone) {
  Peer& a = join();
  a.provide("on");
  EXPECT_EQ(publish(a, "", 1).find("topic_not_set"), 0);
  EXPECT_EQ(publish(a, std::string(kMaxNameBytes + 1, 'x'), 1).find("enqueue_error"), 0);
  subscribe(a, "t1", "", "on");
  EXPECT_NE(refusal(a.next("triggerregistrationresult")).find("1 to 256 bytes"), std::string::npos);
  subscribe(a, "t2", "news", "on", *json::parse(R"({"queue_config":{"maxretries":1}})"));
  EXPECT_NE(refusal(a.next("triggerregistrationresult")).find("maxretries"), std::string::npos);
  EXPECT_EQ(queues->size(), 0);
}

TEST_F(Topic, SubscribersOfATopicAreLimited) {
  Peer& a = join();
  for (size_t i = 0; i < kMaxSubscribers; ++i)
    subscribe(a, fmt::format("t{}", i), "news", fmt::format("f{}", i));
  EXPECT_TRUE(a.next("triggerregistrationresult").is_null());
  subscribe(a, "more", "news", "more");
  EXPECT_NE(refusal(a.next("triggerregistrationresult")).find("256 subscribers"), std::string::npos);
}

TEST_F(Topic, LongErrorsAreCut) {
  Peer& a = join();
  a.provide("on");
  subscribe(a, "t1", "news", "on", *json::parse(R"({"max_retries":1})"));
  publish(a, "news", 1);
  take(a);
  end(a, std::string(10 * kMaxErrorBytes, 'e'));
  const Value rows = ask(a, "engine::queue::dlq_messages", Value::object({{"topic", "news"}}));
  EXPECT_EQ(rows.as_array()->front().string_or("error").size(), kMaxErrorBytes);
}

}  // namespace
}  // namespace chela::bus::queue
