#include "bus/stream/stream.h"

#include "bus/bus_fixture.h"
#include "testing/memory_records.h"

namespace chela::bus::stream {
namespace {

using json::Value;

class StreamTest : public BusTest {
 protected:
  // A socket of tests.
  struct Socket {
    FakeLink link;
    Session session;
    StreamTest& test;

    Socket(StreamTest& t, std::string user, std::set<std::string, std::less<>> permissions, Value context,
           size_t held)
        : link(t.loop),
          session(t.streams->session_parts(), link,
                  {.rights = {.principal = {.realm = "default",
                                            .user = std::move(user),
                                            .permissions = std::move(permissions)}},
                   .context = std::move(context)},
                  held, {}),
          test(t) {}

    void say(std::string_view message) {
      test.group.spawn(session.handle(std::string(message)));
      test.loop.run_ready();
    }
    void join(std::string_view stream, std::string_view in, std::string_view id = "s1",
              std::string_view item = "") {
      Value data = Value::object({{"subscriptionId", id}, {"streamName", stream}, {"groupId", in}});
      if (!item.empty()) data.set("id", item);
      say(json::write(Value::object({{"type", "join"}, {"data", std::move(data)}})));
    }
    // The event of the oldest envelope, as text; "" when there is none.
    std::string heard() {
      if (link.got.empty()) return "";
      const Value frame = std::move(link.got.front());
      link.got.pop_front();
      EXPECT_EQ(frame.string_or("type"), "stream");
      return json::write(*frame.find("event"));
    }
  };

  ~StreamTest() override { end(); }
  void begin(StreamOptions options = {}) {
    streams = std::make_unique<Streams>(*bus, std::move(options), disk.opener());
    ASSERT_TRUE(runtime::block_on(loop, streams->start()));
  }
  void end() {
    if (!streams) return;
    for (const std::unique_ptr<Socket>& socket : sockets) socket->session.end();
    runtime::block_on(loop, streams->stop());
    for (const std::unique_ptr<Peer>& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, bus->stop());
    runtime::block_on(loop, group.join());
    sockets.clear();
    streams.reset();
  }
  Socket& socket(std::string user = "ann", Value context = {}, size_t held = kHeldEvents) {
    sockets.push_back(std::make_unique<Socket>(
        *this, std::move(user), std::set<std::string, std::less<>>{"*"}, std::move(context), held));
    return *sockets.back();
  }
  static std::string ask(Peer& peer, std::string_view id, std::string_view data) {
    peer.call(fmt::format("stream::{}", id), json::parse(data).value());
    return answer(peer);
  }
  static std::string answer(Peer& peer) {
    const Value frame = peer.answer();
    if (frame.is_null()) return "no answer";
    if (const Value* error = frame.find("error"))
      return error->string_or("code") + ": " + error->string_or("message");
    const Value* result = frame.find("result");
    return result == nullptr ? "none" : json::write(*result);
  }
  static void watch(Peer& peer, std::string_view type, std::string_view function, std::string_view config,
                    std::string_view id = "t1") {
    peer.tell(Value::object({{"type", "registertrigger"},
                             {"id", id},
                             {"trigger_type", type},
                             {"function_id", function},
                             {"config", json::parse(config).value()}}));
  }

  testing::MemoryRecords disk{loop};
  runtime::TaskGroup group{loop};
  std::unique_ptr<Streams> streams;
  std::vector<std::unique_ptr<Socket>> sockets;
};

TEST_F(StreamTest, ItemsOfGroupsOfStreams) {
  begin();
  Peer& worker = join();
  EXPECT_EQ(ask(worker, "get", R"({"stream_name":"chat","group_id":"room","item_id":"i"})"), "none");
  EXPECT_EQ(ask(worker, "set", R"({"stream_name":"chat","group_id":"room","item_id":"i","data":{"n":1}})"),
            R"({"old_value":null,"new_value":{"n":1}})");
  EXPECT_EQ(
      ask(worker, "update",
          R"({"stream_name":"chat","group_id":"room","item_id":"i","ops":[{"type":"increment","path":"n","by":1}]})"),
      R"({"old_value":{"n":1},"new_value":{"n":2}})");
  ask(worker, "set", R"({"stream_name":"chat","group_id":"attic","item_id":"a","data":1})");
  ask(worker, "set", R"({"stream_name":"cha","group_id":"troom","item_id":"a","data":2})");
  EXPECT_EQ(ask(worker, "get", R"({"stream_name":"chat","group_id":"room","item_id":"i"})"), R"({"n":2})");
  EXPECT_EQ(ask(worker, "list", R"({"stream_name":"chat","group_id":"room"})"), R"([{"n":2}])");
  EXPECT_EQ(ask(worker, "list_groups", R"({"stream_name":"chat"})"), R"(["attic","room"])");
  EXPECT_EQ(
      ask(worker, "list_all", "{}"),
      R"({"stream":[{"id":"cha","groups":["troom"]},{"id":"chat","groups":["attic","room"]}],"count":2})");
  EXPECT_EQ(ask(worker, "delete", R"({"stream_name":"chat","group_id":"room","item_id":"i"})"),
            R"({"old_value":{"n":2}})");
  EXPECT_EQ(ask(worker, "delete", R"({"stream_name":"chat","group_id":"room","item_id":"i"})"),
            R"({"old_value":null})");
  Peer& bob = join({"bus:*"}, "bob");
  EXPECT_EQ(ask(bob, "list_all", "{}"), R"({"stream":[],"count":0})");
}

TEST_F(StreamTest, WhatIsWrongHasIiisCodes) {
  begin();
  Peer& worker = join();
  for (const char* id : {"get", "set", "delete", "update", "list", "list_groups", "send"}) {
    EXPECT_EQ(ask(worker, id, "{}").substr(0, 20), "serialization_error:") << id;
  }
  const std::string big(items::kMaxItemBytes, 'x');
  EXPECT_EQ(ask(worker, "set",
                fmt::format(R"({{"stream_name":"chat","group_id":"room","item_id":"i","data":"{}"}})", big))
                .substr(0, 17),
            "STREAM_SET_ERROR:");
  const std::string longest(items::kMaxItemKeyBytes, 'g');
  EXPECT_EQ(ask(worker, "set",
                fmt::format(R"({{"stream_name":"{0}","group_id":"{0}","item_id":"{0}","data":1}})", longest)),
            R"({"old_value":null,"new_value":1})");
  EXPECT_EQ(
      ask(worker, "get", fmt::format(R"({{"stream_name":"s","group_id":"g{}","item_id":"i"}})", longest))
          .substr(0, 17),
      "STREAM_GET_ERROR:");
}

TEST_F(StreamTest, ASocketIsShownWhatIsThereAndThenEveryChange) {
  begin();
  Peer& worker = join();
  ask(worker, "set", R"({"stream_name":"chat","group_id":"room","item_id":"i","data":1})");
  Socket& all = socket();
  Socket& one = socket();
  Socket& none = socket();
  all.join("chat", "room");
  one.join("chat", "room", "s1", "i");
  none.join("chat", "room", "s1", "other");
  EXPECT_EQ(
      json::write(all.link.got.front()),
      R"({"type":"stream","timestamp":1767225600000,"streamName":"chat","groupId":"room","id":null,"event":{"type":"sync","data":[1]}})");
  EXPECT_EQ(all.heard(), R"({"type":"sync","data":[1]})");
  EXPECT_EQ(one.link.got.front().string_or("id"), "i");
  EXPECT_EQ(one.heard(), R"({"type":"sync","data":1})");
  EXPECT_EQ(none.heard(), R"({"type":"sync","data":null})");
  ask(worker, "set", R"({"stream_name":"chat","group_id":"room","item_id":"i","data":{"a": 2}})");
  ask(worker, "set", R"({"stream_name":"chat","group_id":"room","item_id":"j","data":3})");
  ask(worker, "delete", R"({"stream_name":"chat","group_id":"room","item_id":"i"})");
  ask(worker, "delete", R"({"stream_name":"chat","group_id":"room","item_id":"none"})");
  ask(worker, "set", R"({"stream_name":"chat","group_id":"attic","item_id":"i","data":4})");
  EXPECT_EQ(
      ask(worker, "send", R"({"stream_name":"chat","group_id":"room","type":"typing","data":{"who":"ann"}})"),
      "none");
  EXPECT_EQ(
      ask(worker, "send", R"({"stream_name":"chat","group_id":"room","id":"i","type":"typing","data":1})"),
      "none");
  EXPECT_EQ(all.heard(), R"({"type":"update","data":{"a":2}})");
  EXPECT_EQ(all.heard(), R"({"type":"create","data":3})");
  EXPECT_EQ(all.heard(), R"({"type":"delete","data":{"a":2}})");
  EXPECT_EQ(all.heard(), R"({"type":"event","event":{"type":"typing","data":{"who":"ann"}}})");
  EXPECT_EQ(all.heard(), R"({"type":"event","event":{"type":"typing","data":1}})");
  EXPECT_EQ(all.heard(), "");
  EXPECT_EQ(one.heard(), R"({"type":"update","data":{"a":2}})");
  EXPECT_EQ(one.heard(), R"({"type":"delete","data":{"a":2}})");
  EXPECT_EQ(one.heard(), R"({"type":"event","event":{"type":"typing","data":1}})");
  EXPECT_EQ(one.heard(), "");
  EXPECT_EQ(none.heard(), "");
  all.say(R"({"type":"leave","data":{"subscriptionId":"s1","streamName":"chat","groupId":"room"}})");
  ask(worker, "set", R"({"stream_name":"chat","group_id":"room","item_id":"i","data":5})");
  EXPECT_EQ(all.heard(), "");
  EXPECT_EQ(streams->status().int_or("subscriptions", 0), 2);
}

TEST_F(StreamTest, UsersHearOnlyTheirOwn) {
  begin();
  Peer& ann = join();
  Socket& bob = socket("bob");
  bob.join("chat", "room");
  EXPECT_EQ(bob.heard(), R"({"type":"sync","data":[]})");
  ask(ann, "set", R"({"stream_name":"chat","group_id":"room","item_id":"i","data":1})");
  ask(ann, "send", R"({"stream_name":"chat","group_id":"room","type":"t","data":1})");
  EXPECT_EQ(bob.heard(), "");
}

TEST_F(StreamTest, SubscriptionsEndWithTheirSocketAndAreReplacedById) {
  begin();
  Peer& worker = join();
  worker.provide("w::left");
  watch(worker, "stream:leave", "w::left", R"({"stream_name":"chat"})");
  Socket& one = socket("ann", Value::object({{"user", 7}}));
  one.join("chat", "room", "a");
  one.join("chat", "attic", "b");
  one.join("chat", "cellar", "a");
  const auto left = [&] { return json::write(*worker.next("invokefunction").find("data")); };
  EXPECT_EQ(
      left(),
      R"({"subscription_id":"a","stream_name":"chat","group_id":"room","id":null,"context":{"user":7}})");
  EXPECT_EQ(one.session.subscriptions(), 2U);
  one.session.end();
  EXPECT_EQ(json::parse(left())->string_or("group_id"), "cellar");
  EXPECT_EQ(json::parse(left())->string_or("group_id"), "attic");
  EXPECT_EQ(streams->status().int_or("subscriptions", -1), 0);
}

TEST_F(StreamTest, TriggersDecideAboutASubscription) {
  begin();
  Peer& worker = join();
  worker.provide("w::joins");
  watch(worker, "stream:join", "w::joins", "{}");
  Socket& one = socket();
  one.join("chat", "room");
  EXPECT_EQ(one.heard(), "");
  worker.serve(Value::object({{"unauthorized", true}}));
  EXPECT_EQ(one.heard(), R"({"type":"unauthorized"})");
  EXPECT_EQ(one.session.subscriptions(), 0U);
  one.join("chat", "room");
  worker.serve(Value::object({{"unauthorized", false}}));
  EXPECT_EQ(one.heard(), R"({"type":"sync","data":[]})");
  // A trigger that fails, or does not answer, says no.
  worker.tell(Value::object({{"type", "unregisterfunction"}, {"id", "w::joins"}}));
  one.join("chat", "room", "s2");
  EXPECT_EQ(one.heard(), R"({"type":"unauthorized"})");
  worker.provide("w::joins");
  one.join("chat", "room", "s2");
  loop.advance(kJoinTimeout);
  EXPECT_EQ(one.heard(), R"({"type":"unauthorized"})");
  EXPECT_EQ(one.session.subscriptions(), 1U);
}

TEST_F(StreamTest, ChangesFireTheTriggersThatWatchThem) {
  begin();
  Peer& worker = join();
  worker.provide("w::on");
  watch(worker, "stream", "w::on", R"({"stream_name":"chat","group_id":"room"})", "t1");
  watch(worker, "stream", "w::on", R"({"stream_name":"chat","item_id":"other"})", "t2");
  ask(worker, "set", R"({"stream_name":"chat","group_id":"room","item_id":"i","data":1})");
  ask(worker, "set", R"({"stream_name":"chat","group_id":"attic","item_id":"i","data":1})");
  ask(worker, "send", R"({"stream_name":"chat","group_id":"room","type":"t","data":1})");
  EXPECT_EQ(
      json::write(*worker.next("invokefunction").find("data")),
      R"({"type":"stream","timestamp":1767225600000,"streamName":"chat","groupId":"room","id":"i","event":{"type":"create","data":1}})");
  EXPECT_TRUE(worker.next("invokefunction").is_null());
  watch(worker, "stream", "w::on", "{}", "t3");
  EXPECT_EQ(worker.next("triggerregistrationresult").find("error")->string_or("message"),
            "a stream trigger needs a stream_name");
  worker.leave();
  EXPECT_EQ(streams->status().int_or("triggers", -1), 0);
}

TEST_F(StreamTest, AFunctionMayStandForAnOperation) {
  begin();
  Peer& worker = join();
  Peer& caller = join();
  for (const char* id : {"get", "set", "delete", "list", "list_groups", "update"})
    worker.provide(fmt::format("stream::{}(mine)", id));
  Socket& one = socket();
  one.join("mine", "room");
  EXPECT_EQ(one.heard(), "");
  // What happens before the first values are there comes behind them.
  caller.call("stream::send",
              json::parse(R"({"stream_name":"mine","group_id":"room","type":"t","data":1})").value());
  worker.serve(Value::array({1, 2}));
  EXPECT_EQ(one.heard(), R"({"type":"sync","data":[1,2]})");
  EXPECT_EQ(one.heard(), R"({"type":"event","event":{"type":"t","data":1}})");
  EXPECT_EQ(answer(caller), "none");
  caller.call(
      "stream::set",
      json::parse(R"({"stream_name":"mine","group_id":"room","item_id":"i","data":{"n":1}})").value());
  const Value call = worker.next("invokefunction");
  EXPECT_EQ(call.string_or("function_id"), "stream::set(mine)");
  EXPECT_EQ(json::write(*call.find("data")),
            R"({"stream_name":"mine","group_id":"room","item_id":"i","data":{"n":1}})");
  worker.tell(
      Value::object({{"type", "invocationresult"},
                     {"invocation_id", call.string_or("invocation_id")},
                     {"function_id", "stream::set(mine)"},
                     {"result", json::parse(R"({"old_value":{"n":0},"new_value":{"n":1}})").value()}}));
  EXPECT_EQ(answer(caller), R"({"old_value":{"n":0},"new_value":{"n":1}})");
  EXPECT_EQ(one.heard(), R"({"type":"update","data":{"n":1}})");
  caller.call("stream::get",
              json::parse(R"({"stream_name":"mine","group_id":"room","item_id":"i"})").value());
  worker.serve(Value());
  EXPECT_EQ(answer(caller), "none");
  caller.call("stream::list", json::parse(R"({"stream_name":"mine","group_id":"room"})").value());
  EXPECT_EQ(worker.serve(Value::array({7})), "stream::list(mine)");
  EXPECT_EQ(answer(caller), "[7]");
  caller.call("stream::list_groups", json::parse(R"({"stream_name":"mine"})").value());
  EXPECT_EQ(worker.serve(Value::array({"room"})), "stream::list_groups(mine)");
  caller.call("stream::delete",
              json::parse(R"({"stream_name":"mine","group_id":"room","item_id":"i"})").value());
  EXPECT_EQ(worker.serve(json::parse(R"({"old_value":5})").value()), "stream::delete(mine)");
  EXPECT_EQ(one.heard(), R"({"type":"delete","data":5})");
  caller.call("stream::update",
              json::parse(R"({"stream_name":"mine","group_id":"room","item_id":"i","ops":[]})").value());
  EXPECT_EQ(worker.serve(json::parse(R"({"new_value":6})").value()), "stream::update(mine)");
  EXPECT_EQ(one.heard(), R"({"type":"create","data":6})");
}

TEST_F(StreamTest, WhoDoesNotTakeItsEventsIsCutOffAndHoldsNobodyUp) {
  begin();
  Peer& worker = join();
  Socket& slow = socket();
  Socket& quick = socket();
  slow.join("chat", "room");
  quick.join("chat", "room");
  slow.link.unread = kMaxUntakenBytes;
  ask(worker, "set", R"({"stream_name":"chat","group_id":"room","item_id":"i","data":1})");
  EXPECT_FALSE(slow.link.closed);
  slow.link.unread = kMaxUntakenBytes + 1;
  ask(worker, "set", R"({"stream_name":"chat","group_id":"room","item_id":"i","data":2})");
  EXPECT_EQ(slow.link.close_code, 1008);
  EXPECT_EQ(quick.link.got.size(), 3U);
  EXPECT_FALSE(quick.link.closed);
}

TEST_F(StreamTest, EventsThatWaitForTheFirstValuesAreLimited) {
  begin();
  Peer& worker = join();
  worker.provide("stream::list(mine)");
  Socket& one = socket("ann", {}, 2);
  one.join("mine", "room");
  for (int i = 0; i < 2; ++i)
    ask(worker, "send", R"({"stream_name":"mine","group_id":"room","type":"t","data":1})");
  EXPECT_FALSE(one.link.closed);
  ask(worker, "send", R"({"stream_name":"mine","group_id":"room","type":"t","data":1})");
  EXPECT_EQ(one.link.close_code, 1008);
  worker.serve(Value::array({}));
}

TEST_F(StreamTest, ASubscriptionThatCannotBeMadeSaysWhy) {
  begin();
  Peer& worker = join();
  Socket& one = socket();
  for (const char* message :
       {"", "[]", R"({"type":"join"})",
        R"({"type":"join","data":{"subscriptionId":1,"streamName":"s","groupId":"g"}})",
        R"({"type":"join","data":{"subscriptionId":"a","streamName":"s","groupId":"g","id":4}})",
        R"({"type":"swim","data":{}})"}) {
    one.say(message);
    EXPECT_NE(one.heard().find(R"({"type":"error","error":{"code":"invalid_argument")"), std::string::npos)
        << message;
  }
  one.say(fmt::format(R"({{"type":"join","data":{{"subscriptionId":"{}","streamName":"s","groupId":"g"}}}})",
                      std::string(kMaxSubscriptionIdBytes + 1, 'i')));
  EXPECT_NE(one.heard().find("error"), std::string::npos);
  for (size_t i = 0; i < kMaxSubscriptions; ++i) one.join("chat", "room", std::to_string(i));
  one.link.got.clear();
  one.join("chat", "room", "more");
  EXPECT_NE(one.heard().find("too_large"), std::string::npos);
  one.join("chat", "room", "0");
  EXPECT_EQ(one.heard(), R"({"type":"sync","data":[]})");
  worker.provide("stream::list(mine)");
  Socket& other = socket();
  other.join("mine", "room");
  worker.leave();
  EXPECT_NE(other.heard().find(R"({"type":"error")"), std::string::npos);
  EXPECT_EQ(other.session.subscriptions(), 0U);
}

TEST_F(StreamTest, TriggersOfAStreamAreLimited) {
  begin();
  Peer& worker = join();
  Peer& other = join();
  for (size_t i = 0; i < kMaxStreamTriggers; ++i)
    watch(worker, "stream", "w::on", R"({"stream_name":"chat"})", fmt::format("t{}", i));
  EXPECT_TRUE(worker.next("triggerregistrationresult").is_null());
  watch(other, "stream", "w::on", R"({"stream_name":"chat"})", "more");
  EXPECT_FALSE(other.next("triggerregistrationresult").is_null());
}

TEST_F(StreamTest, ChangesAreToldAfterTheDisk) {
  begin({.keep = {.file = "streams.db"}});
  Peer& worker = join();
  Socket& one = socket();
  one.join("chat", "room");
  one.heard();
  disk.hold();
  EXPECT_EQ(ask(worker, "set", R"({"stream_name":"chat","group_id":"room","item_id":"i","data":1})"),
            "no answer");
  EXPECT_EQ(one.heard(), "");
  disk.release();
  loop.run_ready();
  EXPECT_EQ(one.heard(), R"({"type":"create","data":1})");
  EXPECT_EQ(answer(worker), R"({"old_value":null,"new_value":1})");
  disk.failure = Error{.code = Code::kUnavailable, .message = "disk full"};
  EXPECT_EQ(ask(worker, "set", R"({"stream_name":"chat","group_id":"room","item_id":"i","data":2})"),
            "STREAM_SET_ERROR: disk full");
  EXPECT_EQ(one.heard(), "");
}

}  // namespace
}  // namespace chela::bus::stream
