#include "bus/observability/trace_triggers.h"

#include "bus/bus_fixture.h"
#include "bus/observability/limits.h"

namespace chela::bus::observability {
namespace {

using json::Value;

// The oldest of a trigger's own traces is forgotten: a late span of it is told, once more than is needed.
TEST_F(BusTest, SoManyTracesOfTriggersAreQuiet) {
  TraceTriggers triggers(*bus, loop);
  ASSERT_TRUE(triggers.add_type());
  Peer& ann = join();
  ann.provide("on::trace");
  ann.say(
      R"({"type": "registertrigger", "id": "t", "trigger_type": "trace", "function_id": "on::trace", "config": {}})");
  const std::string tenant = ann.worker->view.tenant;
  const auto end_span = [&](size_t trace) {
    triggers.ended(tenant, Value::object({{"trace_id", fmt::format("t{}", trace)}}));
    loop.advance(kTellDelay);
    return !ann.next("invokefunction").is_null();
  };
  for (size_t i = 0; i < kMaxQuietTraces; ++i) triggers.began(tenant, fmt::format("t{}", i), "on::trace");
  EXPECT_FALSE(end_span(0));
  triggers.began(tenant, "one more", "on::trace");
  EXPECT_TRUE(end_span(0));
  EXPECT_FALSE(end_span(1));
  triggers.stop();
  ann.leave();
}

TEST_F(BusTest, AFunctionOfAnotherUserWithTheNameOfATraceTriggersIsTold) {
  TraceTriggers triggers(*bus, loop);
  ASSERT_TRUE(triggers.add_type());
  Peer& ann = join({"bus:*"}, "ann");
  Peer& bob = join({"bus:*"}, "bob");
  for (const auto& [peer, id] : {std::pair{&ann, "orders::create"}, std::pair{&bob, "on::trace"}}) {
    peer->provide(id);
    peer->say(fmt::format(
        R"({{"type": "registertrigger", "id": "t", "trigger_type": "trace", "function_id": "{}", "config": {{}}}})",
        id));
  }
  bob.provide("orders::create");
  triggers.began(bob.worker->view.tenant, "t1", "orders::create");
  triggers.ended(bob.worker->view.tenant, Value::object({{"trace_id", "t1"}}));
  loop.advance(kTellDelay);
  EXPECT_FALSE(bob.next("invokefunction").is_null());
  triggers.stop();
  ann.leave();
  bob.leave();
}

}  // namespace
}  // namespace chela::bus::observability
