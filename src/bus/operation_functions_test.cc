#include "bus/operation_functions.h"

#include "bus/bus_fixture.h"
#include "bus/operation_detour.h"

namespace chela::bus {
namespace {

using json::Value;

Task<Result<Value>> greet(op::CallContext context, Value args) {
  if (args.string_or("name") == "nobody") co_return fail(Code::kNotFound, "there is nobody");
  co_return Value::object({{"text", "hello " + args.string_or("name")}, {"user", context.scope.user}});
}

Task<Result<Value>> stream(op::CallContext, Value, op::EventSink& sink) {
  const Result<> open = sink.open();
  if (!open) co_return fail(open.error());
  co_return Value();
}

Task<Result<>> bytes(op::CallContext, Value, op::ByteSink&) { co_return Result<>{}; }

class OperationFunctionsTest : public BusTest {
 protected:
  OperationFunctionsTest() {
    op::Operation hello{.id = "hello::greet",
                        .help = "greets",
                        .permission = "hello:read",
                        .routes = {},
                        .idempotent = op::Idempotent::kYes,
                        .handler = op::ValueHandler(greet)};
    hello.in = Value::object({{"type", "object"},
                              {"properties", Value::object({{"name", Value::object({{"type", "string"}})}})},
                              {"required", Value::array({"name"})},
                              {"additionalProperties", false}});
    EXPECT_TRUE(operations.add(std::move(hello)));
    EXPECT_TRUE(operations.add(op::Operation{.id = "hello::stream",
                                             .help = "streams",
                                             .permission = "",
                                             .kind = op::Kind::kEvents,
                                             .routes = {},
                                             .handler = op::EventsHandler(stream)}));
    EXPECT_TRUE(operations.add(op::Operation{.id = "hello::once",
                                             .help = "not to be repeated",
                                             .permission = "",
                                             .routes = {},
                                             .handler = op::ValueHandler(greet)}));
    EXPECT_TRUE(operations.add(op::Operation{.id = "hello::bytes",
                                             .help = "bytes",
                                             .permission = "",
                                             .kind = op::Kind::kBytes,
                                             .routes = {},
                                             .handler = op::BytesHandler(bytes)}));
    EXPECT_TRUE(add_operation_functions(*bus, operations));
  }
  op::Registry operations;
};

std::string code_of(const Value& answer) {
  return answer.find("error") ? answer.find("error")->string_or("code") : "";
}

TEST_F(OperationFunctionsTest, RunForTheConnectionsPrincipal) {
  Peer& ann = join({"bus:call", "hello:read"}, "ann");
  ann.call("hello::greet", Value::object({{"name", "crab"}, {"_caller_worker_id", "handed on"}}));
  const Value answer = ann.answer();
  ASSERT_EQ(code_of(answer), "");
  EXPECT_EQ(answer.find("result")->string_or("text"), "hello crab");
  EXPECT_EQ(answer.find("result")->string_or("user"), "ann");
}

TEST_F(OperationFunctionsTest, CheckPermissionAndSchemaAndKeepTheirErrors) {
  Peer& guest = join({"bus:call"});
  guest.call("hello::greet", Value::object({{"name", "x"}}));
  EXPECT_EQ(code_of(guest.answer()), "permission_denied");
  Peer& peer = join();
  peer.call("hello::greet", Value::object({{"name", 7}}));
  EXPECT_EQ(code_of(peer.answer()), "unprocessable");
  peer.call("hello::greet", Value());
  EXPECT_EQ(code_of(peer.answer()), "unprocessable");
  peer.call("hello::greet", Value::object({{"name", "nobody"}}));
  EXPECT_EQ(code_of(peer.answer()), "not_found");
  peer.call("hello::stream");
  EXPECT_EQ(code_of(peer.answer()), "unsupported");
}

TEST_F(OperationFunctionsTest, AreListedWithTheirSchemas) {
  Peer& peer = join();
  peer.call("engine::functions::info", Value::object({{"function_id", "hello::greet"}}));
  const Value answer = peer.answer();
  EXPECT_EQ(answer.find("result")->string_or("worker_name"), "engine");
  EXPECT_EQ(answer.find("result")->find("request_schema")->string_or("type"), "object");
}

TEST_F(OperationFunctionsTest, AreNotTakenByWorkersWithoutThePermission) {
  Peer& peer = join({"bus:register", "bus:call", "bus:replace:hello::other"});
  peer.provide("hello::greet");
  EXPECT_EQ(peer.next("registrationrejected").string_or("function_id"), "hello::greet");
  Peer& other = join({"bus:register", "bus:replace:hello::greet"});
  other.provide("hello::greet");
  EXPECT_TRUE(other.next("registrationrejected").is_null());
  other.provide("hello::bytes");
  EXPECT_EQ(other.next("registrationrejected").string_or("function_id"), "hello::bytes");
}

class ReplacedOperationsTest : public OperationFunctionsTest {
 protected:
  static constexpr const char* kGreet = "hello::greet";
  ReplacedOperationsTest() { operations.set_detour(detour); }

  Value greet_crab(Peer& caller) {
    caller.call(kGreet, Value::object({{"name", "crab"}}));
    return caller.answer();
  }
  // As a surface of the engine calls it. The worker's answer comes from `meanwhile`.
  Result<Value> from_http(std::function<void()> meanwhile, std::string user = "ann") {
    const std::shared_ptr<const op::Operation> operation = operations.find(kGreet);
    op::CallContext context{.principal = {.realm = "default", .user = user, .permissions = {"hello:read"}},
                            .scope = {.realm = "default", .user = user, .agent = ""}};
    loop.post(std::move(meanwhile));
    return runtime::block_on(
        loop, std::get<op::ValueHandler>(operation->handler)(context, Value::object({{"name", "crab"}})));
  }

  OperationDetour detour{*bus};
};

TEST_F(ReplacedOperationsTest, AWorkerServesCallsOverBusAndHttpUntilItGoes) {
  Peer& caller = join({"bus:call", "hello:read"});
  Peer& worker = join({"bus:register", "bus:replace:hello::greet"});
  worker.provide(kGreet);
  caller.call(kGreet, Value::object({{"name", "crab"}}));
  EXPECT_EQ(worker.serve(Value::object({{"text", "ahoy"}})), kGreet);
  EXPECT_EQ(caller.answer().find("result")->string_or("text"), "ahoy");
  const Result<Value> http = from_http([&] { worker.serve(Value::object({{"text", "ahoy http"}})); });
  ASSERT_TRUE(http) << http.error().text();
  EXPECT_EQ(http->string_or("text"), "ahoy http");
  worker.leave();
  EXPECT_EQ(greet_crab(caller).find("result")->string_or("text"), "hello crab");
  EXPECT_EQ(from_http([] {})->string_or("text"), "hello crab");
}

TEST_F(ReplacedOperationsTest, PermissionAndSchemaHoldAsBefore) {
  Peer& worker = join({"bus:register", "bus:replace:*"});
  worker.provide(kGreet);
  Peer& guest = join({"bus:call"});
  EXPECT_EQ(code_of(greet_crab(guest)), "permission_denied");
  Peer& caller = join({"bus:call", "hello:read"});
  caller.call(kGreet, Value::object({{"name", 7}}));
  EXPECT_EQ(code_of(caller.answer()), "unprocessable");
  EXPECT_EQ(worker.serve(), "");
}

TEST_F(ReplacedOperationsTest, OnlyForTheWorkersOwnUserUnlessAnAdministratorsIs) {
  Peer& bobs = join({"bus:register", "bus:replace:*"}, "bob");
  bobs.provide(kGreet);
  Peer& ann = join({"bus:call", "hello:read"}, "ann");
  EXPECT_EQ(greet_crab(ann).find("result")->string_or("text"), "hello crab");
  Peer& root = join({"*"}, "root");
  root.provide(kGreet);
  ann.call(kGreet, Value::object({{"name", "crab"}}));
  EXPECT_EQ(root.serve(Value::object({{"text", "from root"}})), kGreet);
  EXPECT_EQ(ann.answer().find("result")->string_or("text"), "from root");
}

TEST_F(ReplacedOperationsTest, TheWorkerItselfReachesWhatItReplaces) {
  Peer& worker = join({"bus:register", "bus:call", "bus:replace:*", "hello:read"});
  worker.provide(kGreet);
  EXPECT_EQ(greet_crab(worker).find("result")->string_or("text"), "hello crab");
}

TEST_F(ReplacedOperationsTest, AWorkerThatDiesInMidCallFailsOnlyWhatMayNotBeRepeated) {
  Peer& caller = join({"bus:call", "hello:read"});
  Peer& first = join({"bus:register", "bus:replace:*"});
  first.provide(kGreet);
  caller.call(kGreet, Value::object({{"name", "crab"}}));
  first.leave();
  EXPECT_EQ(caller.answer().find("result")->string_or("text"), "hello crab") << "greet may be repeated";
  Peer& second = join({"bus:register", "bus:replace:*"});
  second.provide("hello::once");
  caller.call("hello::once");
  second.leave();
  EXPECT_EQ(code_of(caller.answer()), "invocation_stopped");
}

TEST_F(ReplacedOperationsTest, ListsSayWhoServes) {
  Peer& worker = join({"bus:register", "bus:call", "bus:replace:*"});
  worker.call("engine::workers::register", Value::object({{"name", "stand-in"}}));
  (void)worker.answer();
  const auto provider = [&] {
    worker.call("engine::functions::info", Value::object({{"function_id", kGreet}}));
    return worker.answer().find("result")->string_or("worker_name");
  };
  EXPECT_EQ(provider(), "engine");
  worker.provide(kGreet);
  EXPECT_EQ(provider(), "stand-in");
}

TEST_F(ReplacedOperationsTest, AnEventsOperationGivesTheWorkersValue) {
  Peer& worker = join({"bus:register", "bus:replace:*"});
  worker.provide("hello::stream");
  Peer& caller = join();
  caller.call("hello::stream");
  EXPECT_EQ(worker.serve(Value("one value")), "hello::stream");
  EXPECT_EQ(*caller.answer().find("result"), Value("one value"));
}

}  // namespace
}  // namespace chela::bus
