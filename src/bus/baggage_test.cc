#include "bus/baggage.h"

#include "bus/bus_fixture.h"

namespace chela::bus {
namespace {

using json::Value;

TEST(Baggage, NamesAScopeAndKeepsTheRest) {
  const Scope scope{.realm = "default", .user = "ann, the first", .agent = "a=b"};
  const std::string text = with_scope("k=v;p=1 , chela.user=forged,chela.thread=x", scope);
  EXPECT_EQ(text, "k=v;p=1,chela.realm=default,chela.user=ann%2C%20the%20first,chela.agent=a%3Db");
  EXPECT_EQ(scope_in(text), scope);
  EXPECT_EQ(with_scope(text, std::nullopt), "k=v;p=1");
  EXPECT_EQ(with_scope("", std::nullopt), "");
  EXPECT_EQ(call_in(text), std::nullopt);
  EXPECT_EQ(call_in(with_scope("chela.call=forged", scope, "c-1")), "c-1");
}

TEST(Baggage, WhatIsIncompleteOrMalformedNamesNone) {
  for (const std::string_view text : {"", "k=v", "chela.realm=r", "chela.user=u",
                                      "chela.realm=r,chela.user=", "chela.realm=r,chela.user=%zz",
                                      "chela.realm=r,chela.user=a%0ab", "chela.realm,chela.user", ",,;="}) {
    EXPECT_FALSE(scope_in(text)) << text;
  }
  EXPECT_TRUE(scope_in("chela.user=u;x=1, chela.realm = r "));
}

TEST_F(BusTest, WhatASharedWorkerCallsWhileItServesIsItsCallers) {
  Peer& shared = join({"bus:call", "bus:register", "admin"}, "root");
  Peer& ann = join({"bus:call", "bus:register"}, "ann");
  Peer& bob = join({"bus:call", "bus:register"}, "bob");
  shared.provide("shared::work");
  ann.provide("own::data");
  bob.provide("own::data");
  const auto nested = [&](std::string_view baggage) {
    shared.tell(Value::object({{"type", "invokefunction"},
                               {"invocation_id", "n"},
                               {"function_id", "engine::workers::list"},
                               {"data", Value::object()},
                               {"baggage", baggage}}));
    return shared.answer().find("result")->find("workers")->as_array()->size();
  };
  ann.call("shared::work");
  const Value call = shared.next("invokefunction");
  const std::string baggage = call.string_or("baggage");
  EXPECT_EQ(scope_in(baggage)->user, "ann");
  // Ann sees her own worker and the shared one; what the worker does in its own name sees all.
  EXPECT_EQ(nested(baggage), 2u);
  EXPECT_EQ(nested(""), 3u);
  // It serves nobody of bob's, so a word in his name counts for nothing.
  EXPECT_EQ(nested("chela.realm=default,chela.user=bob"), 3u);
  shared.tell(
      Value::object({{"type", "invocationresult"}, {"invocation_id", call.string_or("invocation_id")}}));
  EXPECT_TRUE(shared.worker->serving.empty());
  EXPECT_EQ(nested(baggage), 3u);
}

// Two calls of one user with different tokens: each is told apart by its id, and gives no more than both ends may do.
TEST_F(BusTest, ACallLendsWhatBothItsEndsMayDo) {
  const auto add = [this](std::string_view id, std::string_view permission) {
    ASSERT_TRUE(bus->add({.spec = {.id = std::string(id)}, .handler = [permission](LocalCall call) {
                            return [](bool may) -> Task<Result<Value>> {
                              if (!may) co_return fail(Code::kPermissionDenied, "no");
                              co_return Value(may);
                            }(call.context.principal.allows(permission));
                          }}));
  };
  add("memory::write", "memory:write");
  add("shell::run", "tools:shell:run");
  Peer& shared = join({"bus:*", "admin", "memory:write", "tools:*"}, "root");
  Peer& strong = join({"bus:*", "memory:*", "system:read"}, "ann");
  Peer& weak = join({"bus:*", "tools:shell:run"}, "ann");
  shared.provide("shared::work");
  const auto may = [&](std::string_view function, std::string_view baggage) {
    shared.tell(Value::object({{"type", "invokefunction"},
                               {"invocation_id", "n"},
                               {"function_id", function},
                               {"baggage", baggage}}));
    return shared.answer().find("error") == nullptr;
  };
  strong.call("shared::work");
  weak.call("shared::work");
  const Value first = shared.next("invokefunction");
  const Value second = shared.next("invokefunction");
  EXPECT_TRUE(may("memory::write", first.string_or("baggage")));
  EXPECT_FALSE(may("shell::run", first.string_or("baggage")));
  EXPECT_FALSE(may("memory::write", second.string_or("baggage")));
  EXPECT_TRUE(may("shell::run", second.string_or("baggage")));
  const Rights& lent = *shared.worker->serving.at(first.string_or("invocation_id"));
  EXPECT_EQ(lent.principal.permissions, (op::Permissions{"bus:*", "memory:write"}));
}

TEST_F(BusTest, WhatIsLentEndsWithItsToken) {
  Peer& shared = join({"*"}, "root");
  shared.provide("shared::work");
  std::stop_source revoked;
  Peer& ann = join({"bus:*"}, "ann");
  ann.worker->rights.ended = revoked.get_token();
  ann.worker->rights.principal.expires = loop.clock().now() + 60'000;
  const auto code = [&](const Value& call) {
    shared.tell(Value::object({{"type", "invokefunction"},
                               {"invocation_id", "n"},
                               {"function_id", "engine::workers::list"},
                               {"baggage", call.string_or("baggage")}}));
    const Value answer = shared.answer();
    const Value* error = answer.find("error");
    return error == nullptr ? "" : error->string_or("code");
  };
  ann.call("shared::work");
  const Value call = shared.next("invokefunction");
  EXPECT_EQ(code(call), "");
  revoked.request_stop();
  EXPECT_EQ(code(call), "FORBIDDEN");
  ann.call("shared::work");
  EXPECT_EQ(ann.answer().find("error")->string_or("code"), "FORBIDDEN");

  Peer& bob = join({"bus:*"}, "bob");
  bob.worker->rights.principal.expires = loop.clock().now() + 1000;
  bob.call("shared::work");
  const Value other = shared.next("invokefunction");
  EXPECT_EQ(code(other), "");
  loop.advance(1s);
  EXPECT_EQ(code(other), "FORBIDDEN");
  bob.call("shared::work");
  EXPECT_EQ(bob.answer().find("error")->string_or("code"), "FORBIDDEN");
}

TEST_F(BusTest, OnlyThoseWhoMayDelegateSpeakForOthers) {
  Peer& broker = join({"bus:call", "bus:delegate"}, "broker");
  Peer& ann = join({"bus:*"}, "ann");
  Peer& guest = join({"bus:call"}, "broker");
  ann.provide("ann::f");
  const auto call = [](Peer& peer) {
    peer.tell(Value::object({{"type", "invokefunction"},
                             {"invocation_id", "n"},
                             {"function_id", "ann::f"},
                             {"data", Value::object()},
                             {"baggage", "k=v,chela.realm=default,chela.user=ann"}}));
  };
  call(guest);
  EXPECT_NE(guest.answer().find("error"), nullptr);
  call(broker);
  EXPECT_EQ(ann.serve(), "ann::f");
  EXPECT_EQ(broker.answer().find("error"), nullptr);
}

TEST_F(BusTest, AForgedScopeGoesNoFurther) {
  Peer& helper = join({"bus:*"}, "ann");
  Peer& guest = join({"bus:call"}, "ann");
  helper.provide("f");
  guest.tell(Value::object({{"type", "invokefunction"},
                            {"function_id", "f"},
                            {"data", Value::object()},
                            {"baggage", "k=v,chela.realm=default,chela.user=bob"}}));
  EXPECT_EQ(helper.next("invokefunction").string_or("baggage"), "k=v");
}

TEST_F(BusTest, TheEnginesCallsSayWhoseTheyAre) {
  Peer& provider = join({"admin", "bus:*"}, "root");
  provider.provide("f");
  const op::CallContext context{.principal = {.realm = "default", .user = "ann", .permissions = {"*"}},
                                .scope = {.realm = "default", .user = "ann", .agent = "helper"}};
  runtime::TaskGroup group(loop);
  const auto run = [](Task<Result<Value>> task) -> Task<> { EXPECT_TRUE(co_await std::move(task)); };
  group.spawn(run(bus->call(context, "f", {})));
  const Value call = provider.next("invokefunction");
  EXPECT_EQ(scope_in(call.string_or("baggage")),
            (Scope{.realm = "default", .user = "ann", .agent = "helper"}));
  provider.tell(
      Value::object({{"type", "invocationresult"}, {"invocation_id", call.string_or("invocation_id")}}));
  EXPECT_TRUE(group.empty());
}

TEST_F(BusTest, LongTextsAreCutOrLeftOut) {
  Peer& provider = join();
  Peer& caller = join();
  provider.call("engine::workers::register",
                Value::object({{"name", std::string(kMaxMetadataBytes + 1, 'n')}, {"version", "0.9.0"}}));
  EXPECT_EQ(provider.worker->info.name.size(), kMaxMetadataBytes);
  provider.tell(Value::object({{"type", "registerfunction"},
                               {"id", "f"},
                               {"description", std::string(kMaxDescriptionBytes + 1, 'd')}}));
  EXPECT_EQ(bus->functions().find("f", provider.worker->view).spec->description, "");
  provider.provide(std::string(kMaxIdBytes + 1, 'i'));
  EXPECT_EQ(provider.worker->functions.size(), 1u);
  caller.tell(Value::object({{"type", "invokefunction"},
                             {"function_id", "f"},
                             {"data", nullptr},
                             {"traceparent", std::string(kMaxTraceBytes, 't')},
                             {"baggage", std::string(kMaxTraceBytes - 2, 'b')}}));
  const Value call = provider.next("invokefunction");
  EXPECT_EQ(call.find("traceparent"), nullptr);
  EXPECT_EQ(call.string_or("baggage").size(), kMaxTraceBytes - 2);
  EXPECT_EQ(to_wire({.code = Code::kInternal, .message = std::string(kMaxErrorMessageBytes + 1, 'x')})
                .message.size(),
            kMaxErrorMessageBytes);
}

TEST(Baggage, CountsTheTriggersBehindEachOther) {
  EXPECT_EQ(hops_in(""), 0u);
  EXPECT_EQ(hops_in("chela.hops=x,a=b"), 0u);
  EXPECT_EQ(with_hops("a=b,chela.hops=3,chela.user=u", 4), "a=b,chela.hops=4");
  EXPECT_EQ(hops_in(with_hops("", 7)), 7u);
  EXPECT_EQ(with_scope("a=b,chela.hops=3", std::nullopt), "a=b");
}

}  // namespace
}  // namespace chela::bus
