#include "bus/bus_fixture.h"

namespace chela::bus {
namespace {

using json::Value;

Value trigger(std::string_view id, std::string_view type, std::string_view function_id) {
  return Value::object(
      {{"type", "registertrigger"}, {"id", id}, {"trigger_type", type}, {"function_id", function_id}});
}

std::string problem(const Value& frame) {
  const Value* error = frame.find("error");
  return error == nullptr ? "" : error->string_or("code") + ": " + error->string_or("message");
}

class SessionsTest : public BusTest {
 protected:
  SessionsTest() : host(join()) {
    rules.deciders.host = std::make_shared<const Rights>(host.worker->rights);
    host.provide("h::open");
    host.provide("h::closed");
    host.provide("h::decide");
    rules.calls = Session::Calls::kListed;
    rules.allowed = {"h::open"};
  }

  Peer& visit() {
    peers.push_back(std::unique_ptr<Peer>(new Peer{.test = *this, .link = FakeLink(loop), .worker = {}}));
    Peer& peer = *peers.back();
    Rights rights = host.worker->rights;
    rights.principal.permissions = {"bus:call", "bus:register"};
    peer.worker = bus->connect(peer.link, std::move(rights), "test", std::make_shared<const Session>(rules));
    return peer;
  }
  bool knows(std::string_view id) { return bus->knows(id, host.worker->view); }

  Peer& host;
  Session rules;
};

TEST_F(SessionsTest, CallsAreThoseThatAreListed) {
  Peer& guest = visit();
  guest.call("h::open");
  EXPECT_EQ(host.serve(), "h::open");
  EXPECT_EQ(problem(guest.answer()), "");
  guest.call("h::closed");
  EXPECT_EQ(problem(guest.answer()),
            "FORBIDDEN: function 'h::closed' not allowed (add to rbac.expose_functions)");
  rules.forbidden = {"h::open"};
  Peer& other = visit();
  other.call("h::open");
  EXPECT_EQ(problem(other.answer()),
            "FORBIDDEN: function 'h::open' not allowed (remove from rbac.forbidden_functions)");
  EXPECT_EQ(host.serve(), "");
}

TEST_F(SessionsTest, ListsShowWhatMayBeCalled) {
  rules.allowed.insert("engine::functions::list");
  Peer& guest = visit();
  guest.call("engine::functions::list");
  const Value answer = guest.answer();
  const json::Array& rows = *answer.find("result")->find("functions")->as_array();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].string_or("function_id"), "h::open");
}

TEST_F(SessionsTest, FunctionsGetThePrefixAndAreCalledWithout) {
  rules.prefix = "p";
  Peer& guest = visit();
  guest.provide("mine");
  EXPECT_TRUE(knows("p::mine"));
  EXPECT_FALSE(knows("mine"));
  host.call("p::mine");
  const Value call = guest.next("invokefunction");
  EXPECT_EQ(call.string_or("function_id"), "mine");
  guest.tell(Value::object({{"type", "invocationresult"},
                            {"invocation_id", call.string_or("invocation_id")},
                            {"function_id", "mine"},
                            {"result", 1}}));
  EXPECT_EQ(host.answer().string_or("function_id"), "p::mine");
  guest.tell(trigger("t", "engine::workers-available", "mine"));
  EXPECT_EQ(bus->triggers().list(host.worker->view).at(0)->function_id, "p::mine");
  guest.tell(Value::object({{"type", "unregisterfunction"}, {"id", "mine"}}));
  EXPECT_FALSE(knows("p::mine"));
}

TEST_F(SessionsTest, TheMiddlewareIsCalledInstead) {
  rules.deciders.middleware = "h::decide";
  rules.context = Value::object({{"user", "u"}});
  Peer& guest = visit();
  guest.call("h::open", Value::object({{"n", 1}}));
  const Value call = host.next("invokefunction");
  EXPECT_EQ(call.string_or("function_id"), "h::decide");
  EXPECT_EQ(json::write(*call.find("data")),
            R"({"function_id":"h::open","payload":{"n":1},"action":null,"context":{"user":"u"}})");
  host.tell(Value::object({{"type", "invocationresult"},
                           {"invocation_id", call.string_or("invocation_id")},
                           {"function_id", "h::decide"},
                           {"result", "instead"}}));
  EXPECT_EQ(guest.answer().string_or("result"), "instead");
  guest.call("h::closed");
  EXPECT_NE(problem(guest.answer()).find("FORBIDDEN"), std::string::npos);
  guest.call("engine::workers::register", Value::object({{"name", "w"}}));
  EXPECT_EQ(problem(guest.answer()), "");
  EXPECT_TRUE(host.next("invokefunction").is_null());
}

TEST_F(SessionsTest, AFunctionDecidesAboutFunctions) {
  rules.deciders.on_function = "h::decide";
  Peer& guest = visit();
  guest.provide("one");
  EXPECT_EQ(guest.worker->undecided, 1u);
  EXPECT_EQ(host.serve(Value::object({{"function_id", "renamed"}, {"metadata", Value::object({{"k", 1}})}})),
            "h::decide");
  EXPECT_EQ(guest.worker->undecided, 0u);
  EXPECT_TRUE(knows("renamed"));
  host.call("renamed");
  EXPECT_EQ(guest.next("invokefunction").string_or("function_id"), "one");
  for (const Value& no : {Value(), Value(false), Value("text")}) {
    guest.provide("two");
    EXPECT_EQ(host.serve(no), "h::decide");
    EXPECT_FALSE(knows("two"));
    EXPECT_EQ(guest.next("registrationrejected").string_or("function_id"), "two");
  }
  guest.provide("three");
  loop.advance(kDecisionTimeout);
  EXPECT_FALSE(knows("three"));
  rules.register_functions = Session::May::kNo;
  Peer& mute = visit();
  mute.provide("four");
  EXPECT_FALSE(mute.next("registrationrejected").is_null());
}

TEST_F(SessionsTest, AFunctionDecidesAboutTriggers) {
  rules.deciders.on_trigger = "h::decide";
  rules.trigger_types = Session::Ids{"engine::workers-available"};
  Peer& guest = visit();
  guest.tell(trigger("t1", "engine::workers-available", "h::closed"));
  EXPECT_EQ(host.serve(Value::object({{"function_id", "h::open"}})), "h::decide");
  EXPECT_EQ(bus->triggers().list(host.worker->view).at(0)->function_id, "h::open");
  guest.tell(trigger("t2", "engine::workers-available", "h::closed"));
  EXPECT_EQ(host.serve(Value::object()), "h::decide");
  EXPECT_NE(problem(guest.next("triggerregistrationresult")).find("'h::closed' not allowed"),
            std::string::npos);
  guest.tell(trigger("t3", "engine::functions-available", "h::open"));
  EXPECT_EQ(host.serve(Value::object()), "h::decide");
  EXPECT_NE(problem(guest.next("triggerregistrationresult")).find("no triggers of the type"),
            std::string::npos);
  guest.tell(trigger("t4", "engine::workers-available", "h::open"));
  EXPECT_EQ(host.serve(Value()), "h::decide");
  EXPECT_NE(problem(guest.next("triggerregistrationresult")).find("did not allow"), std::string::npos);
}

TEST_F(SessionsTest, TriggersHaveNothingElseCalledEither) {
  Peer& guest = visit();
  guest.provide("mine");
  for (const std::string_view config :
       {R"({"condition_function_id":"h::closed"})", R"({"_condition_path":"h::closed"})",
        R"({"middleware_function_ids":["h::open","h::closed"]})"}) {
    Value frame = trigger("t", "engine::workers-available", "mine");
    frame.set("config", *json::parse(config));
    guest.tell(frame);
    EXPECT_NE(problem(guest.next("triggerregistrationresult")).find("'h::closed' not allowed"),
              std::string::npos);
  }
  Value frame = trigger("t", "engine::workers-available", "mine");
  frame.set("config", *json::parse(R"({"condition_function_id":"h::open"})"));
  guest.tell(frame);
  EXPECT_TRUE(guest.next("triggerregistrationresult").is_null());
}

TEST_F(SessionsTest, AFunctionDecidesAboutTriggerTypes) {
  const Value frame =
      Value::object({{"type", "registertriggertype"}, {"id", "bell"}, {"description", "rings"}});
  rules.register_trigger_types = Session::May::kNo;
  visit().tell(frame);
  EXPECT_EQ(bus->triggers().find_type("bell", host.worker->view), nullptr);
  rules.register_trigger_types = Session::May::kYes;
  rules.deciders.on_trigger_type = "h::decide";
  Peer& guest = visit();
  guest.tell(frame);
  EXPECT_EQ(host.serve(Value()), "h::decide");
  EXPECT_EQ(bus->triggers().find_type("bell", host.worker->view), nullptr);
  guest.tell(frame);
  EXPECT_EQ(host.serve(Value::object()), "h::decide");
  EXPECT_NE(bus->triggers().find_type("bell", host.worker->view), nullptr);
}

TEST_F(SessionsTest, WhoLeavesMeanwhileRegistersNothing) {
  rules.deciders.on_function = "h::decide";
  Peer& guest = visit();
  guest.provide("one");
  guest.leave();
  EXPECT_EQ(host.serve(Value::object()), "h::decide");
  EXPECT_FALSE(knows("one"));
}

}  // namespace
}  // namespace chela::bus
