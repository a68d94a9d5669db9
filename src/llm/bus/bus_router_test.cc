#include "llm/bus/bus_router.h"

#include "bus/bus_fixture.h"

namespace chela::llm {
namespace {

class BusRouterTest : public bus::BusTest {
 protected:
  std::optional<std::string> ask(std::function<void()> meanwhile) {
    loop.post(std::move(meanwhile));
    return runtime::block_on(loop, router.route("hello", 3, "big", {}));
  }
  bus::BusTest::Peer& worker() {
    bus::BusTest::Peer& made = join({"bus:register", "bus:replace:llm::route"});
    made.provide("llm::route");
    return made;
  }
  static void answer(bus::BusTest::Peer& peer, std::string_view result) {
    const json::Value call = peer.next("invokefunction");
    EXPECT_EQ(call.find("data")->string_or("message"), "hello");
    EXPECT_EQ(call.find("data")->int_or("toolCount", 0), 3);
    EXPECT_EQ(call.find("data")->string_or("model"), "big");
    peer.tell(*json::parse(fmt::format(
        R"({{"type": "invocationresult", "invocation_id": "{}", "function_id": "llm::route", "result": {}}})",
        call.string_or("invocation_id"), result)));
  }

  BusRouter router{*bus, {.realm = "default", .user = "ann", .permissions = {"*"}}};
};

TEST_F(BusRouterTest, AWorkerChoosesWhileThereIsOne) {
  EXPECT_EQ(ask([] {}), std::nullopt);
  bus::BusTest::Peer& one = worker();
  EXPECT_EQ(ask([&] { answer(one, R"({"provider": "groq", "model": "small"})"); }), "groq/small");
  EXPECT_EQ(ask([&] { answer(one, R"({"model": "tiny"})"); }), "tiny");
  EXPECT_EQ(ask([&] { answer(one, R"({"provider": "groq"})"); }), std::nullopt);
  EXPECT_EQ(ask([&] { answer(one, R"("nonsense")"); }), std::nullopt);
  EXPECT_EQ(ask([] {}), std::nullopt) << "it took longer than kRouteTime";
  one.leave();
  EXPECT_EQ(ask([] {}), std::nullopt);
}

TEST(BusRouter, NamesAreReadWithCare) {
  EXPECT_EQ(model_from_route(*json::parse(R"({"provider": "p", "model": "p/m"})")), "p/m");
  EXPECT_EQ(model_from_route(*json::parse(R"({"provider": "p", "model": "a b"})")), "");
  EXPECT_EQ(model_from_route(json::Value::object({{"model", std::string(300, 'x')}})), "");
  EXPECT_EQ(model_from_route(json::Value()), "");
}

}  // namespace
}  // namespace chela::llm
