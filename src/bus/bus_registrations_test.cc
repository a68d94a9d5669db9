#include "bus/bus_fixture.h"
#include "obs/log.h"

namespace chela::bus {
namespace {

using json::Value;

std::set<std::string> ids_of(const Value& answer, std::string_view list, std::string_view key) {
  std::set<std::string> ids;
  const Value* result = answer.find("result");
  const Value* rows = result == nullptr ? nullptr : result->find(list);
  if (rows == nullptr || rows->as_array() == nullptr) return ids;
  for (const Value& row : *rows->as_array()) ids.insert(row.string_or(key));
  return ids;
}

Value trigger(std::string_view id, std::string_view type, std::string_view function_id) {
  return Value::object({{"type", "registertrigger"},
                        {"id", id},
                        {"trigger_type", type},
                        {"function_id", function_id},
                        {"config", Value::object({{"c", 1}})}});
}

TEST_F(BusTest, UnregisteredFunctionsAreGone) {
  Peer& provider = join();
  provider.provide("f");
  EXPECT_EQ(provider.worker->functions.size(), 1u);
  provider.say(R"({"type":"unregisterfunction","id":"f"})");
  EXPECT_EQ(provider.worker->functions.size(), 0u);
  EXPECT_EQ(provider.worker->registration_bytes, 0u);
  provider.call("f");
  EXPECT_NE(provider.answer().find("error"), nullptr);
}

TEST_F(BusTest, NobodyTakesAnIdOfTheEngine) {
  Peer& worker = join();
  worker.provide("engine::workers::list");
  EXPECT_EQ(worker.next("registrationrejected").string_or("code"), "FUNCTION_NAMESPACE_CONFLICT");
  worker.provide("engine::anything");
  EXPECT_EQ(worker.next("registrationrejected").string_or("function_id"), "engine::anything");
  Peer& guest = join({"bus:call"});
  guest.provide("f");
  EXPECT_EQ(guest.next("registrationrejected").string_or("function_id"), "f");
  EXPECT_EQ(worker.worker->functions.size() + guest.worker->functions.size(), 0u);
}

TEST_F(BusTest, AWorkerHasOnlySoManyFunctions) {
  Peer& worker = join();
  for (size_t i = 0; i < kMaxFunctionsPerWorker; ++i) worker.provide(fmt::format("f{}", i));
  EXPECT_TRUE(worker.next("registrationrejected").is_null());
  worker.provide("one::more");
  EXPECT_FALSE(worker.next("registrationrejected").is_null());
  worker.provide("f7");  // its own again
  EXPECT_TRUE(worker.next("registrationrejected").is_null());
}

TEST_F(BusTest, SchemasAreBounded) {
  Peer& worker = join();
  const Value large(std::string(kMaxRegistrationBytes / 4, 'x'));
  const auto add = [&](std::string_view id) {
    worker.tell(Value::object({{"type", "registerfunction"}, {"id", id}, {"metadata", large}}));
  };
  for (const std::string_view id : {"a", "b", "c"}) add(id);
  EXPECT_TRUE(worker.next("registrationrejected").is_null());
  add("d");
  EXPECT_FALSE(worker.next("registrationrejected").is_null());
  add("a");  // replaces itself
  EXPECT_TRUE(worker.next("registrationrejected").is_null());
}

TEST_F(BusTest, AFunctionHasOnlySoManyProviders) {
  for (size_t i = 0; i < kMaxProviders; ++i) join().provide("f");
  Peer& late = join();
  late.provide("f");
  EXPECT_FALSE(late.next("registrationrejected").is_null());
}

TEST_F(BusTest, TriggersGoToTheProviderOfTheirType) {
  Peer& provider = join();
  Peer& user = join();
  provider.say(R"({"type":"registertriggertype","id":"webhook","description":"d"})");
  user.provide("u::on");
  user.tell(trigger("t1", "webhook", "u::on"));
  const Value offer = provider.next("registertrigger");
  EXPECT_EQ(offer.string_or("id"), "t1");
  EXPECT_EQ(offer.find("config")->int_or("c", 0), 1);
  provider.tell(Value::object({{"type", "triggerregistrationresult"},
                               {"id", "t1"},
                               {"trigger_type", "webhook"},
                               {"function_id", "u::on"}}));
  EXPECT_TRUE(user.next("triggerregistrationresult").is_null());
  provider.say(R"({"type":"invokefunction","function_id":"u::on","data":{"n":1},"action":{"type":"void"}})");
  EXPECT_EQ(user.serve(), "u::on");
  user.say(R"({"type":"unregistertrigger","id":"t1","trigger_type":"webhook"})");
  EXPECT_EQ(provider.next("unregistertrigger").string_or("id"), "t1");
  user.tell(trigger("t2", "webhook", "u::on"));
  provider.next("registertrigger");
  user.leave();
  EXPECT_EQ(provider.next("unregistertrigger").string_or("id"), "t2");
  EXPECT_EQ(bus->triggers().size(), 0u);
}

TEST_F(BusTest, ARefusalReachesTheOwner) {
  Peer& provider = join();
  Peer& user = join();
  Peer& stranger = join();
  provider.say(R"({"type":"registertriggertype","id":"webhook"})");
  user.tell(trigger("t1", "webhook", "f"));
  const std::string refusal =
      R"({"type":"triggerregistrationresult","id":"t1","trigger_type":"webhook","function_id":"f",)"
      R"("error":{"code":"taken","message":"the path is taken"}})";
  stranger.say(refusal);
  EXPECT_TRUE(user.next("triggerregistrationresult").is_null());
  provider.say(refusal);
  EXPECT_EQ(user.next("triggerregistrationresult").find("error")->string_or("code"), "taken");
}

TEST_F(BusTest, TriggersWaitForTheirTypeAndOutliveItsProvider) {
  Peer& user = join();
  user.tell(trigger("t1", "webhook", "f"));
  Peer& first = join();
  first.say(R"({"type":"registertriggertype","id":"webhook"})");
  EXPECT_EQ(first.next("registertrigger").string_or("id"), "t1");
  Peer& second = join();
  second.say(R"({"type":"registertriggertype","id":"webhook"})");
  EXPECT_TRUE(second.next("registertrigger").is_null());
  first.leave();
  EXPECT_EQ(second.next("registertrigger").string_or("id"), "t1");
  second.say(R"({"type":"unregistertriggertype","id":"webhook"})");
  Peer& third = join();
  third.say(R"({"type":"registertriggertype","id":"webhook"})");
  EXPECT_EQ(third.next("registertrigger").string_or("id"), "t1");
}

TEST_F(BusTest, OldSdksAreToldThatATriggerWaits) {
  const auto introduce = [](Peer& peer, std::string_view version) {
    peer.call("engine::workers::register", Value::object({{"name", "w"}, {"version", version}}));
  };
  const auto told = [](Peer& peer) {
    const Value result = peer.next("triggerregistrationresult");
    return result.is_null() ? "" : result.find("error")->string_or("code") + " " + result.string_or("id");
  };
  Peer& old = join();
  Peer& current = join();
  for (Peer* each : {&old, &current}) {
    each->tell(trigger(each == &old ? "o1" : "c1", "webhook", "f"));
    EXPECT_EQ(told(*each), "");  // it may be one of those that know
  }
  introduce(old, "0.21.9");
  EXPECT_EQ(told(old), "trigger_registration_failed o1");
  old.tell(trigger("o2", "webhook", "f"));
  EXPECT_EQ(told(old), "trigger_registration_failed o2");
  introduce(old, "0.21.9");
  EXPECT_EQ(told(old), "");
  introduce(current, "0.22.0");
  current.tell(trigger("c2", "webhook", "f"));
  EXPECT_EQ(told(current), "");
}

TEST_F(BusTest, TriggersAndTypesAreBounded) {
  Peer& user = join();
  const auto refused = [](Peer& peer) {
    const Value result = peer.next("triggerregistrationresult");
    const Value* error = result.find("error");
    return error == nullptr ? "" : error->string_or("message");
  };
  user.say(R"({"type":"registertriggertype","id":"own"})");
  user.tell(trigger("same", "own", "f"));
  for (size_t i = 1; i < kMaxTriggersPerWorker; ++i) user.tell(trigger(fmt::format("t{}", i), "own", "f"));
  EXPECT_EQ(refused(user), "");
  user.tell(trigger("one-more", "own", "f"));
  EXPECT_NE(refused(user).find("at most"), std::string::npos);
  for (size_t i = 0; i < kMaxTriggerTypesPerWorker + 5; ++i)
    user.tell(Value::object({{"type", "registertriggertype"}, {"id", fmt::format("type{}", i)}}));
  EXPECT_EQ(user.worker->trigger_types.size(), kMaxTriggerTypesPerWorker);
}

TEST_F(BusTest, ANewerConnectionTakesOverTheTriggersOfAnOlderOne) {
  Peer& provider = join();
  provider.say(R"({"type":"registertriggertype","id":"webhook"})");
  Peer& old = join();
  old.tell(trigger("t", "webhook", "f"));
  EXPECT_EQ(provider.next("registertrigger").string_or("id"), "t");
  Peer& back = join();  // while the old connection is half open
  back.tell(trigger("t", "webhook", "f"));
  EXPECT_TRUE(back.next("triggerregistrationresult").is_null());
  EXPECT_EQ(provider.next("unregistertrigger").string_or("id"), "t");
  EXPECT_EQ(provider.next("registertrigger").string_or("id"), "t");
  EXPECT_EQ(old.worker->registration_bytes, 0u);
  old.tell(trigger("t", "webhook", "f"));
  EXPECT_NE(old.next("triggerregistrationresult").find("error")->string_or("message").find("newer"),
            std::string::npos);
  old.leave();
  EXPECT_TRUE(provider.next("unregistertrigger").is_null());
  ASSERT_EQ(bus->triggers().size(), 1u);
  EXPECT_EQ(bus->triggers().list(back.worker->view).front()->owner, back.worker);
}

TEST_F(BusTest, IdsOfTriggersAreAUsersOwn) {
  Peer& provider = join({"*"}, "root");
  provider.say(R"({"type":"registertriggertype","id":"webhook"})");
  Peer& ann = join({"bus:*"}, "ann");
  Peer& bob = join({"bus:*"}, "b/b");
  ann.tell(trigger("t", "webhook", "f"));
  bob.tell(trigger("t", "webhook", "f"));
  EXPECT_TRUE(bob.next("triggerregistrationresult").is_null());
  EXPECT_EQ(provider.next("registertrigger").string_or("id"), "default/ann/t");
  const std::string offered = provider.next("registertrigger").string_or("id");
  EXPECT_EQ(offered, "default/b%2Fb/t");
  for (const std::string& id : {offered, std::string("t"), std::string("default/b%zz/t"), std::string("a/b")})
    provider.tell(Value::object(
        {{"type", "triggerregistrationresult"}, {"id", id}, {"error", Value::object({{"code", "taken"}})}}));
  EXPECT_EQ(bob.next("triggerregistrationresult").string_or("id"), "t");
  EXPECT_TRUE(bob.next("triggerregistrationresult").is_null());
  EXPECT_TRUE(ann.next("triggerregistrationresult").is_null());
  bob.leave();
  EXPECT_EQ(provider.next("unregistertrigger").string_or("id"), offered);
  EXPECT_EQ(bus->triggers().size(), 1u);
}

TEST_F(BusTest, ReattachEndsTheOldConnectionOnlyWithItsToken) {
  Peer& old = join();
  old.provide("f");
  const std::string token = old.next("workerregistered").string_or("reattach_token");
  Peer& back = join();
  const auto reattach = [&](std::string_view with) {
    back.tell(Value::object(
        {{"type", "reattach"}, {"previous_worker_id", old.worker->id}, {"reattach_token", with}}));
  };
  reattach("wrong");
  back.tell(Value::object({{"type", "reattach"}, {"previous_worker_id", old.worker->id}}));
  EXPECT_FALSE(old.link.closed);
  reattach(token);
  EXPECT_TRUE(old.link.closed);
  EXPECT_EQ(bus->workers().size(), 1u);
  EXPECT_EQ(bus->functions().find("f", back.worker->view).spec, nullptr);
}

TEST_F(BusTest, PingsAreAnsweredAndNonsenseIsIgnored) {
  Peer& peer = join();
  peer.say(R"({"type":"ping"})");
  EXPECT_FALSE(peer.next("pong").is_null());
  for (
      const std::string_view frame :
      {"", "  \n", "nonsense", "[]", "{}", R"({"type":7})", R"({"type":"unheard"})",
       R"({"type":"registerfunction"})", R"({"type":"registerfunction","id":""})",
       R"({"type":"invokefunction","data":{}})", R"({"type":"invokefunction","function_id":7})",
       R"({"type":"invocationresult"})", R"({"type":"registertrigger","id":"t"})",
       R"({"type":"unregistertrigger"})",
       R"({"type":"invokefunction","invocation_id":"a","function_id":"f","data":{},"action":{"type":"dance"}})"}) {
    peer.say(frame);
  }
  EXPECT_FALSE(peer.link.closed);
  peer.call("engine::functions::list");
  EXPECT_FALSE(peer.answer().is_null());
}

TEST_F(BusTest, NonsenseOfOneConnectionIsLoggedOnlySoOften) {
  ASSERT_TRUE(log::start({.file = ""}));
  const std::vector<log::Entry> before = log::recent(0, 1);
  Peer& worker = join();
  for (int i = 0; i < kMaxBadFramesLogged + 3; ++i) worker.say("nonsense");
  log::stop();
  int lines = 0;
  for (const log::Entry& line : log::recent(before.empty() ? 0 : before.back().number, kLogRingEntries))
    lines += line.message.starts_with("a frame was ignored");
  EXPECT_EQ(lines, kMaxBadFramesLogged);
}

TEST_F(BusTest, TheListOfTriggersIsWhatTheSdkExpects) {
  Peer& early = join();
  Peer& late = join();
  early.call("engine::workers::register", Value::object({{"name", "early"}, {"version", "0.11.6"}}));
  late.call("engine::workers::register", Value::object({{"name", "late"}, {"version", "0.22.1"}}));
  early.answer();
  late.answer();
  late.say(
      R"({"type":"registertriggertype","id":"webhook","description":"d","trigger_request_format":{"type":"object"}})");
  late.tell(trigger("t1", "webhook", "f"));
  early.call("engine::triggers::list");
  EXPECT_EQ(ids_of(early.answer(), "triggers", "id"), std::set<std::string>{"t1"});
  late.call("engine::triggers::list");
  EXPECT_EQ(ids_of(late.answer(), "triggers", "id"), std::set<std::string>{"webhook"});
  late.call("engine::registered-triggers::list");
  EXPECT_EQ(ids_of(late.answer(), "registered_triggers", "id"), std::set<std::string>{"t1"});
  late.call("engine::triggers::info", Value::object({{"id", "webhook"}}));
  EXPECT_EQ(late.answer().find("result")->int_or("instance_count", 0), 1);
  early.call("engine::trigger-types::list");
  EXPECT_EQ(ids_of(early.answer(), "trigger_types", "id"), std::set<std::string>{"webhook"});
}

TEST_F(BusTest, FunctionsAndWorkersAreListedToThoseWhoMaySeeThem) {
  Peer& ann = join({"bus:*"}, "ann");
  Peer& bob = join({"bus:*"}, "bob");
  ann.call("engine::workers::register", Value::object({{"name", "a"}, {"version", "0.22.1"}, {"pid", 7}}));
  ann.answer();
  ann.provide("ann::f");
  bob.provide("bob::f");
  ann.call("engine::functions::list");
  EXPECT_EQ(ids_of(ann.answer(), "functions", "function_id"), std::set<std::string>{"ann::f"});
  ann.call("engine::functions::list",
           Value::object({{"include_internal", true}, {"prefix", "engine::workers::"}}));
  EXPECT_EQ(ids_of(ann.answer(), "functions", "function_id").size(), 3u);
  ann.call("engine::workers::list");
  EXPECT_EQ(ids_of(ann.answer(), "workers", "name"), std::set<std::string>{"a"});
  ann.call("engine::functions::info", Value::object({{"function_id", "bob::f"}}));
  EXPECT_NE(ann.answer().find("error"), nullptr);
}

}  // namespace
}  // namespace chela::bus
