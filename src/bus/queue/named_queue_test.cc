#include "bus/queue/queue_fixture.h"

namespace chela::bus::queue {
namespace {

using json::Value;

class NamedQueue : public QueueTest {
 protected:
  NamedQueue() { start(); }
};

// One that is done when its test says so, and does not look at its stop.
Task<Result<Value>> wait_for(runtime::Completion<bool> done, LocalCall) { co_return Value(co_await done); }

TEST_F(NamedQueue, AReceiptComesWhenTheMessageIsOnDisk) {
  Peer& a = join();
  a.provide("work");
  records.hold();
  EXPECT_EQ(enqueue(a, "default", "work", Value::object({{"n", 1}})), "no answer");
  EXPECT_EQ(take(a), "");
  records.release();
  EXPECT_EQ(said(a.answer()).size(), 36);
  EXPECT_EQ(stored(kMessages), 1);
  EXPECT_EQ(take(a), R"({"n":1})");  // and no _caller_worker_id
  end(a);
  EXPECT_EQ(queues->messages(), 0);
  EXPECT_EQ(queues->bytes(), 0);
  loop.advance(kLazyDelay);
  EXPECT_EQ(stored(kMessages), 0);
}

TEST_F(NamedQueue, WhatCannotBeWrittenIsRefused) {
  Peer& a = join();
  a.provide("work");
  records.failure = Error{.code = Code::kUnavailable, .message = "disk full"};
  EXPECT_EQ(enqueue(a, "default", "work", 1), "enqueue_error: disk full");
  EXPECT_EQ(take(a), "");
  EXPECT_EQ(queues->bytes(), 0);
  records.failure.reset();
  EXPECT_EQ(enqueue(a, "default", "work", 2).size(), 36);
  EXPECT_EQ(drain(a), "2");
}

TEST_F(NamedQueue, RefusesByName) {
  Peer& a = join();
  EXPECT_EQ(enqueue(a, "nope", "work", 1), "enqueue_error: Queue 'nope' not found");
  EXPECT_EQ(enqueue(a, "pay", "work", Value::object({{"a", 1}})),
            "enqueue_error: FIFO queue 'pay' requires field 'tx' in data, but it was not found");
  EXPECT_EQ(queues->messages(), 0);
}

TEST_F(NamedQueue, ConcurrencyOneKeepsTheOrder) {
  Peer& a = join();
  a.provide("work");
  for (int i = 0; i < 5; ++i) enqueue(a, "single", "work", i);
  EXPECT_EQ(take(a), "0");
  EXPECT_EQ(take(a), "");
  end(a);
  EXPECT_EQ(drain(a), "1 2 3 4");
}

TEST_F(NamedQueue, NoMoreRunAtOnceThanMay) {
  Peer& a = join();
  a.provide("work");
  for (int i = 0; i < 12; ++i) enqueue(a, "default", "work", i);
  int running = 0;
  while (!take(a).empty()) ++running;
  EXPECT_EQ(running, 10);
  end(a);
  EXPECT_EQ(take(a), "10");
}

TEST_F(NamedQueue, UrgentOnesGoFirst) {
  Peer& a = join();
  for (int i = 0; i < 4; ++i) enqueue(a, "urgent", "work", Value::object({{"p", i}}));
  a.provide("work");
  EXPECT_EQ(drain(a), R"({"p":3} {"p":2} {"p":1} {"p":0})");
}

TEST_F(NamedQueue, FailedOnesWaitLongerEachTimeAndDie) {
  settings.named.at("default").max_attempts = 4;
  crash();
  Peer& a = join();
  a.provide("work");
  const std::string receipt = enqueue(a, "default", "work", 7);
  for (const auto wait : {100ms, 200ms, 400ms}) {
    EXPECT_EQ(take(a), "7");
    end(a, "not today");
    loop.advance(wait - 1ms);
    EXPECT_EQ(take(a), "");
    loop.advance(1ms);
  }
  EXPECT_EQ(take(a), "7");
  end(a, "never");
  loop.advance(24h);
  EXPECT_EQ(take(a), "");
  const Value dead = ask(a, "engine::queue::dlq_messages", Value::object({{"topic", "default"}}));
  ASSERT_TRUE(dead.as_array() && dead.as_array()->size() == 1) << json::write(dead);
  const Value& row = dead.as_array()->front();
  EXPECT_EQ(row.string_or("id"), receipt);
  EXPECT_EQ(row.int_or("payload", 0), 7);
  EXPECT_EQ(row.string_or("error"), "never");
  EXPECT_EQ(row.int_or("retries", 0), 4);
  EXPECT_EQ(row.int_or("size_bytes", 0), 1);
  EXPECT_EQ(json::write(ask(a, "engine::queue::dlq_topics")),
            R"([{"topic":"default","kind":"queue","broker_type":"builtin","message_count":1}])");
}

TEST_F(NamedQueue, FifoGroupsKeepTheirOrderAlsoWhenOneFails) {
  Peer& a = join();
  a.provide("work");
  const auto data = [](std::string_view tx, int n) { return Value::object({{"tx", tx}, {"n", n}}); };
  for (int n = 0; n < 2; ++n) {
    enqueue(a, "pay", "work", data("a", n));
    enqueue(a, "pay", "work", data("b", n));
  }
  EXPECT_EQ(take(a), R"({"tx":"a","n":0})");
  EXPECT_EQ(take(a), R"({"tx":"b","n":0})");
  EXPECT_EQ(take(a), "");
  end(a, "no");  // of a: its group waits with it
  EXPECT_EQ(take(a), "");
  end(a);
  EXPECT_EQ(take(a), R"({"tx":"b","n":1})");
  end(a);
  loop.advance(100ms);
  EXPECT_EQ(take(a), R"({"tx":"a","n":0})");
  end(a, "no");  // dead: the group goes on
  EXPECT_EQ(take(a), R"({"tx":"a","n":1})");
  end(a);
}

TEST_F(NamedQueue, DeadOnesComeBackOrAreThrownAway) {
  settings.named.at("default").max_attempts = 1;
  crash();
  Peer& a = join();
  a.provide("work");
  std::vector<std::string> receipts;
  for (int i = 0; i < 3; ++i) receipts.push_back(enqueue(a, "default", "work", i));
  while (!take(a).empty()) end(a, "no");
  const auto one = [&](int i) {
    return Value::object({{"queue", "default"}, {"message_id", receipts[static_cast<size_t>(i)]}});
  };
  EXPECT_EQ(ask(a, "iii::queue::redrive_message", one(1)).int_or("redriven", 0), 1);
  EXPECT_EQ(drain(a), "1");
  EXPECT_EQ(ask(a, "iii::queue::discard_message", one(0)).string_or("message_id"), receipts[0]);
  EXPECT_EQ(json::write(ask(a, "iii::queue::redrive", Value::object({{"topic", "__fn_queue::default"}}))),
            R"({"queue":"__fn_queue::default","redriven":1})");
  EXPECT_EQ(drain(a), "2");
  EXPECT_EQ(ask(a, "iii::queue::redrive", Value::object({{"queue", "default"}})).int_or("redriven", -1), 0);
  EXPECT_NE(ask(a, "iii::queue::redrive_message", one(0)).as_string()->find("redrive_message_failed"),
            std::string::npos);
  loop.advance(kLazyDelay);
  EXPECT_EQ(records.rows("queues").size(), 0);
  EXPECT_EQ(queues->bytes(), 0);
}

TEST_F(NamedQueue, ARedriveThatCannotBeWrittenChangesNothing) {
  settings.named.at("default").max_attempts = 1;
  crash();
  Peer& a = join();
  a.provide("work");
  const std::string receipt = enqueue(a, "default", "work", 1);
  take(a);
  end(a, "no");
  records.failure = Error{.code = Code::kUnavailable, .message = "disk full"};
  const Value all = Value::object({{"queue", "default"}, {"message_id", receipt}});
  EXPECT_EQ(*ask(a, "iii::queue::redrive", all).as_string(), "redrive_failed: disk full");
  EXPECT_EQ(*ask(a, "iii::queue::discard_message", all).as_string(), "discard_message_failed: disk full");
  EXPECT_EQ(take(a), "");
  records.failure.reset();
  loop.advance(kJournalRetry);
  crash();
  Peer& b = join();
  b.provide("work");
  EXPECT_EQ(take(b), "");
  EXPECT_EQ(ask(b, "iii::queue::redrive", all).int_or("redriven", 0), 1);
  EXPECT_EQ(drain(b), "1");
}

TEST_F(NamedQueue, AMessageDiesWithTheTokenThatSentIt) {
  Peer& a = join();
  a.worker->rights.principal.expires = loop.clock().now() + 1000;
  enqueue(a, "default", "work", 1);
  enqueue(a, "default", "work", 2);
  crash();
  Peer& b = join();
  b.provide("work");
  EXPECT_EQ(take(b), "1");
  loop.advance(1s);
  end(b, "no");
  loop.advance(100ms);
  EXPECT_EQ(take(b), "2");  // was begun in time
  end(b);
  EXPECT_EQ(take(b), "");
  const Value rows = ask(b, "engine::queue::dlq_messages", Value::object({{"topic", "default"}}));
  ASSERT_EQ(rows.as_array()->size(), 1);
  EXPECT_EQ(rows.as_array()->front().string_or("error"),
            "FORBIDDEN: the token that this message was sent with has expired");
}

TEST_F(NamedQueue, AMessageDiesWithTheRevocationOfItsToken) {
  std::stop_source good;
  int asked = 0;
  bool known = true;
  restore = [&](op::Principal principal) -> Task<Result<Rights>> {
    ++asked;
    EXPECT_EQ(principal.token_id, "token1");
    if (!known) co_return fail(Code::kUnavailable, "the store is busy");
    if (good.stop_requested()) co_return fail(Code::kUnauthenticated, "the token was revoked");
    co_return Rights{.principal = std::move(principal), .ended = good.get_token()};
  };
  Peer& a = join();
  a.worker->rights.principal.token_id = "token1";
  for (int i = 1; i <= 4; ++i) enqueue(a, "single", "work", i);
  crash();
  Peer& b = join();
  known = false;
  b.provide("work");
  EXPECT_EQ(take(b), "");  // nobody can say: it waits, and that is no attempt
  known = true;
  loop.advance(10s);
  EXPECT_EQ(take(b), "1");
  end(b);
  const int before = asked;
  EXPECT_EQ(take(b), "2");
  EXPECT_EQ(asked, before);  // known to be good until it ends
  good.request_stop();
  end(b);
  EXPECT_EQ(take(b), "");
  const Value rows = ask(b, "engine::queue::dlq_messages", Value::object({{"topic", "single"}}));
  ASSERT_EQ(rows.as_array()->size(), 2);
  EXPECT_EQ(rows.as_array()->front().string_or("error"),
            "FORBIDDEN: the token that this message was sent with was revoked");
}

TEST_F(NamedQueue, OnlySoManyTokensAreKnown) {
  std::map<std::string, int> asked;
  restore = [&](op::Principal principal) -> Task<Result<Rights>> {
    ++asked[principal.token_id];
    co_return Rights{.principal = std::move(principal)};
  };
  stop();
  peers.clear();
  bus = std::make_unique<Bus>(BusParts{loop, ids, metrics}, BusOptions{.call_timeout = 60s});
  start();
  Peer& a = join();
  a.provide("work");
  const auto send = [&](std::string token) {
    a.worker->rights.principal.token_id = std::move(token);
    enqueue(a, "single", "work", 1);
    drain(a);
  };
  for (size_t i = 0; i < kMaxKnownTokens; ++i) send(fmt::format("t{}", i));
  send("t0");
  EXPECT_EQ(asked["t0"], 1);
  send("one more");
  send("t0");
  EXPECT_EQ(asked["t0"], 2);
}

TEST_F(NamedQueue, RightsThatAreLentSendNoMessages) {
  Peer& ann = join({"bus:*"}, "ann");
  Peer& shared = join({"bus:call", "bus:register", "admin"}, "root");
  Peer& broker = join({"bus:call", "bus:delegate"}, "broker");
  shared.provide("shared::work");
  ann.call("shared::work");
  const std::string baggage = shared.next("invokefunction").string_or("baggage");
  const auto send = [](Peer& peer, std::string_view in_name_of) {
    peer.tell(Value::object({{"type", "invokefunction"},
                             {"invocation_id", "e"},
                             {"function_id", "work"},
                             {"baggage", in_name_of},
                             {"action", Value::object({{"type", "enqueue"}, {"queue", "default"}})}}));
    return said(peer.answer());
  };
  EXPECT_EQ(send(shared, baggage),
            "FORBIDDEN: the rights of ann are lent for the call that is served; enqueueing work in its name "
            "needs the permission bus:delegate");
  shared.tell(Value::object({{"type", "invokefunction"},
                             {"invocation_id", "e"},
                             {"function_id", "engine::queue::enqueue"},
                             {"baggage", baggage},
                             {"data", Value::object({{"queue", "default"}, {"function_id", "work"}})}}));
  EXPECT_EQ(said(shared.answer()).find("FORBIDDEN: the rights of ann are lent"), 0);
  EXPECT_EQ(queues->messages(), 0);
  EXPECT_EQ(send(shared, "").size(), 36);  // in its own name
  EXPECT_EQ(send(broker, "chela.realm=default,chela.user=ann").size(), 36);
  ann.provide("work");
  EXPECT_EQ(drain(ann), "null");
}

TEST_F(NamedQueue, MessagesWaitForTheirFunctionAndHoldUpNobodyElse) {
  Peer& a = join();
  a.provide("here");
  for (int i = 0; i < 3; ++i) enqueue(a, "single", "gone", i);
  enqueue(a, "single", "here", 9);
  EXPECT_EQ(drain(a), "9");
  loop.advance(1h);
  Peer& b = join();
  b.provide("gone");
  EXPECT_EQ(drain(b), "0 1 2");
}

TEST_F(NamedQueue, AWorkerThatDiesInMidJobCountsAsAnAttempt) {
  Peer& a = join();
  Peer& b = join();
  a.provide("work");
  enqueue(b, "default", "work", 1);
  EXPECT_EQ(take(a), "1");
  a.leave();
  open.clear();
  b.provide("work");
  EXPECT_EQ(take(b), "");
  loop.advance(100ms);
  EXPECT_EQ(take(b), "1");
  end(b);
  EXPECT_EQ(queues->messages(), 0);
}

TEST_F(NamedQueue, WhatTheEngineCouldNotBeginIsNoAttempt) {
  Peer& a = join();
  Peer& b = join();
  b.provide("work");
  b.worker->calls_served = kMaxCallsServed;
  enqueue(a, "default", "work", 1);
  loop.advance(1h);
  EXPECT_EQ(take(b), "");
  b.worker->calls_served = 0;
  loop.advance(100ms);
  EXPECT_EQ(take(b), "1");
  end(b);
  EXPECT_EQ(queues->messages(), 0);
}

TEST_F(NamedQueue, WhatEndsWellWhileTheEngineStopsIsDone) {
  const runtime::Completion<bool> done(loop);
  ASSERT_TRUE(bus->add({.spec = {.id = "work"},
                        .handler = [done](LocalCall call) { return wait_for(done, std::move(call)); }}));
  Peer& a = join();
  enqueue(a, "default", "work", 1);
  loop.run_ready();
  loop.post([done] { done.resolve(true); });
  stop();
  EXPECT_EQ(stored(kMessages), 0);
}

TEST_F(NamedQueue, ACrashLosesNothingAndForgetsNothing) {
  Peer& a = join();
  a.provide("work");
  enqueue(a, "default", "work", 1);
  take(a);
  end(a);
  enqueue(a, "default", "work", 2);
  take(a);
  end(a, "no");  // one attempt
  loop.advance(kLazyDelay);
  enqueue(a, "default", "work", 3);
  EXPECT_EQ(take(a), "3");  // and is not done
  open.clear();
  crash();
  Peer& b = join();
  b.provide("work");
  loop.advance(100ms);
  EXPECT_EQ(take(b), "3");
  EXPECT_EQ(take(b), "2");
  end(b);
  end(b, "no");  // the second attempt, and the last
  EXPECT_EQ(
      ask(b, "engine::queue::topic_stats", Value::object({{"topic", "default"}})).int_or("dlq_depth", 0), 1);
  loop.advance(kLazyDelay);
  crash();
  Peer& c = join();
  c.provide("work");
  EXPECT_EQ(take(c), "");
  EXPECT_EQ(ask(c, "iii::queue::redrive", Value::object({{"queue", "default"}})).int_or("redriven", 0), 1);
  EXPECT_EQ(drain(c), "2");
}

TEST_F(NamedQueue, CompletionsRideWithTheNextCommit) {
  Peer& a = join();
  a.provide("work");
  enqueue(a, "default", "work", 1);
  take(a);
  end(a);
  EXPECT_EQ(stored(kMessages), 1);
  enqueue(a, "default", "work", 2);
  EXPECT_EQ(stored(kMessages), 1);
  EXPECT_EQ(records.commits, 2);
}

TEST_F(NamedQueue, ManyWhoWaitShareACommit) {
  Peer& a = join();
  records.hold();
  for (int i = 0; i < 50; ++i) enqueue(a, "default", "work", i);
  records.release();
  loop.run_ready();
  EXPECT_EQ(stored(kMessages), 50);
  EXPECT_EQ(records.commits, 2);  // the first, and all that came meanwhile
}

TEST_F(NamedQueue, CompletionsAreWrittenAgainWhenTheDiskWasFull) {
  Peer& a = join();
  a.provide("work");
  enqueue(a, "default", "work", 1);
  records.failure = Error{.code = Code::kUnavailable, .message = "disk full"};
  EXPECT_EQ(drain(a), "1");
  loop.advance(kLazyDelay);
  EXPECT_EQ(stored(kMessages), 1);
  records.failure.reset();
  loop.advance(kJournalRetry);
  EXPECT_EQ(stored(kMessages), 0);
}

TEST_F(NamedQueue, UsersHaveTheirOwn) {
  Peer& ann = join();
  Peer& bob = join({"bus:*"}, "bob");
  bob.provide("work");
  enqueue(ann, "default", "work", 1);
  EXPECT_EQ(take(bob), "");
  EXPECT_EQ(ask(ann, "engine::queue::topic_stats", Value::object({{"topic", "default"}})).int_or("depth", -1),
            1);
  EXPECT_EQ(ask(bob, "engine::queue::topic_stats", Value::object({{"topic", "default"}})).int_or("depth", -1),
            0);
  enqueue(bob, "default", "work", 2);
  EXPECT_EQ(drain(bob), "2");
}

TEST_F(NamedQueue, OthersMayBringTheirReceipt) {
  Peer& a = join();
  a.provide("work");
  const Value answer = ask(a, "engine::queue::enqueue",
                           Value::object({{"queue", "default"},
                                          {"function_id", "work"},
                                          {"data", 5},
                                          {"messageReceiptId", "mine"},
                                          {"traceparent", "00-a-b-01"}}));
  EXPECT_EQ(answer.string_or("messageReceiptId"), "mine");
  loop.run_ready();
  EXPECT_EQ(a.next("invokefunction").string_or("traceparent"), "00-a-b-01");
  EXPECT_EQ(
      *ask(a, "engine::queue::enqueue", Value::object({{"queue", "nope"}, {"function_id", "f"}})).as_string(),
      "enqueue_error: Queue 'nope' not found");
  EXPECT_EQ(ask(a, "engine::queue::enqueue").as_string()->find("queue_not_set"), 0);
}

}  // namespace
}  // namespace chela::bus::queue
