#include "bus/pubsub/pubsub.h"

#include "bus/bus_fixture.h"
#include "bus/pubsub/limits.h"

namespace chela::bus::pubsub {
namespace {

using json::Value;

class PubSubTest : public BusTest {
 protected:
  PubSubTest() { EXPECT_TRUE(runtime::block_on(loop, module.start())); }
  // Providers live until the bus has stopped.
  ~PubSubTest() override {
    runtime::block_on(loop, module.stop());
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, bus->stop());
  }

  static void listen(Peer& peer, std::string_view id, std::string_view topic, std::string_view function_id,
                     Value more = Value::object()) {
    Value config = std::move(more);
    config.set("topic", topic);
    peer.tell(Value::object({{"type", "registertrigger"},
                             {"id", id},
                             {"trigger_type", "subscribe"},
                             {"function_id", function_id},
                             {"config", std::move(config)},
                             {"metadata", Value::object({{"m", 1}})}}));
  }
  static Value publish(Peer& peer, std::string_view topic, Value data) {
    peer.call("publish", Value::object({{"topic", topic}, {"data", std::move(data)}}));
    return peer.answer();
  }

  PubSub module{*bus};
};

std::string code_of(const Value& answer) {
  const Value* error = answer.find("error");
  return error == nullptr ? "" : error->string_or("code");
}

TEST_F(PubSubTest, EverySubscriberGetsTheDataItself) {
  Peer& a = join();
  Peer& b = join();
  a.provide("a::on");
  b.provide("b::on");
  listen(a, "t1", "news", "a::on");
  listen(b, "t2", "news", "b::on");
  listen(b, "t3", "other", "b::on");
  const Value answer = publish(a, "news", Value::object({{"n", 1}}));
  EXPECT_EQ(answer.find("result"), nullptr);
  EXPECT_EQ(answer.find("error"), nullptr);
  for (Peer* each : {&a, &b}) {
    const Value call = each->next("invokefunction");
    ASSERT_FALSE(call.is_null());
    EXPECT_EQ(json::write(*call.find("data")), R"({"n":1})");  // and no _caller_worker_id
    EXPECT_EQ(json::write(*call.find("metadata")), R"({"m":1})");
    EXPECT_TRUE(each->next("invokefunction").is_null());
  }
}

TEST_F(PubSubTest, TopicsMatchExactlyAndEndWithTheirTriggers) {
  Peer& a = join();
  a.provide("a::on");
  listen(a, "t1", "news", "a::on");
  publish(a, "news.sport", 1);
  publish(a, "NEWS", 1);
  EXPECT_TRUE(a.next("invokefunction").is_null());
  a.tell(Value::object({{"type", "unregistertrigger"}, {"id", "t1"}}));
  publish(a, "news", 1);
  EXPECT_TRUE(a.next("invokefunction").is_null());
  EXPECT_EQ(module.status().int_or("topics", -1), 0);
  Peer& b = join();
  listen(b, "t2", "news", "a::on");
  b.leave();
  publish(a, "news", 1);
  EXPECT_TRUE(a.next("invokefunction").is_null());
  EXPECT_EQ(bus->open_calls(), 0);
}

TEST_F(PubSubTest, UsersHearOnlyTheirOwn) {
  Peer& ann = join();
  Peer& bob = join({"bus:*"}, "bob");
  bob.provide("b::on");
  listen(bob, "t1", "news", "b::on");
  publish(ann, "news", 1);
  EXPECT_TRUE(bob.next("invokefunction").is_null());
  publish(bob, "news", 2);
  EXPECT_EQ(bob.next("invokefunction").int_or("data", 0), 2);
}

TEST_F(PubSubTest, AConditionDecides) {
  Peer& a = join();
  a.provide("a::on");
  a.provide("a::if");
  listen(a, "t1", "news", "a::on", Value::object({{"condition_function_id", "a::if"}}));
  publish(a, "news", 1);
  EXPECT_EQ(a.serve(false), "a::if");
  EXPECT_TRUE(a.next("invokefunction").is_null());
  publish(a, "news", 2);
  EXPECT_EQ(a.serve(true), "a::if");
  EXPECT_EQ(a.next("invokefunction").string_or("function_id"), "a::on");
}

TEST_F(PubSubTest, OneThatCannotBeCalledHurtsNobodyElse) {
  Peer& a = join();
  Peer& b = join();
  Peer& c = join();
  b.provide("b::on");
  c.provide("c::on");
  listen(a, "t1", "news", "nobody::on");
  listen(b, "t2", "news", "b::on");
  listen(c, "t3", "news", "c::on");
  b.link.refuses = true;
  EXPECT_EQ(code_of(publish(a, "news", 1)), "");
  EXPECT_EQ(c.serve(), "c::on");
}

TEST_F(PubSubTest, RefusesWhatIsNoTopic) {
  Peer& a = join();
  EXPECT_EQ(code_of(publish(a, "", 1)), "topic_not_set");
  a.call("publish", Value(3));
  EXPECT_EQ(code_of(a.answer()), "topic_not_set");
  a.provide("a::on");
  listen(a, "t1", "", "a::on");
  EXPECT_EQ(code_of(a.next("triggerregistrationresult")), "trigger_registration_failed");
  listen(a, "t2", std::string(kMaxTopicBytes + 1, 'x'), "a::on");
  EXPECT_EQ(code_of(a.next("triggerregistrationresult")), "trigger_registration_failed");
}

TEST_F(PubSubTest, SubscribersOfATopicAreLimited) {
  Peer& a = join();
  Peer& b = join();
  a.provide("a::on");
  for (size_t i = 0; i < kMaxSubscribers; ++i) listen(a, fmt::format("t{}", i), "news", "a::on");
  EXPECT_TRUE(a.next("triggerregistrationresult").is_null());
  listen(b, "more", "news", "a::on");
  EXPECT_EQ(code_of(b.next("triggerregistrationresult")), "trigger_registration_failed");
}

}  // namespace
}  // namespace chela::bus::pubsub
