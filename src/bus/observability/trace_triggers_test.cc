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
  const auto end_span = [&](size_t trace) {
    triggers.ended(ann.worker->view.tenant, Value::object({{"trace_id", fmt::format("t{}", trace)}}));
    loop.advance(kTellDelay);
    return !ann.next("invokefunction").is_null();
  };
  for (size_t i = 0; i < kMaxQuietTraces; ++i) triggers.began(fmt::format("t{}", i), "on::trace");
  EXPECT_FALSE(end_span(0));
  triggers.began("one more", "on::trace");
  EXPECT_TRUE(end_span(0));
  EXPECT_FALSE(end_span(1));
  triggers.stop();
  ann.leave();
}

}  // namespace
}  // namespace chela::bus::observability
