#include "bus/bridge/bridge_module.h"

#include "bus/bridge/bridge_fixture.h"
#include "bus/bridge/bridged_module.h"
#include "bus/bus_fixture.h"

namespace chela::bus::bridge {
namespace {

using json::Value;

class BridgeModuleTest : public BusTest {
 protected:
  ~BridgeModuleTest() override {
    if (module) runtime::block_on(loop, module->stop());
  }
  void load(BridgeModule::Options options) {
    auto remote =
        std::make_unique<Remote>(Remote::Parts{.loop = loop, .ids = ids, .connect = engine.connector()},
                                 Remote::Options{.where = "other:1"});
    module = std::make_unique<BridgeModule>(*bus, std::move(remote), std::move(options));
    ASSERT_TRUE(runtime::block_on(loop, module->start()));
    module->opened();
    loop.run_ready();
    engine.next("invokefunction");  // who it is
  }

  FakeEngine engine{loop};
  std::unique_ptr<BridgeModule> module;
};

TEST_F(BridgeModuleTest, ForwardsAndExposes) {
  load({.expose = {{.local = "f", .remote = "far::f"}}, .forward = {{.local = "g", .remote = "far::g"}}});
  EXPECT_EQ(engine.next("registerfunction").string_or("id"), "far::f");
  Peer& worker = join({"*"}, "default");
  worker.provide("f");
  worker.call("g", Value::object({{"a", 1}}));
  const Value call = engine.next("invokefunction");
  EXPECT_EQ(call.string_or("function_id"), "far::g");
  engine.answer(call, "done");
  EXPECT_EQ(worker.answer().string_or("result"), "done");
  engine.say(Value::object({{"type", "invokefunction"},
                            {"invocation_id", "i"},
                            {"function_id", "far::f"},
                            {"data", Value::object({{"b", 2}})}}));
  loop.run_ready();
  EXPECT_EQ(worker.serve(), "f");
  EXPECT_EQ(engine.next("invocationresult").find("result")->find("ok")->as_bool(), true);
}

TEST_F(BridgeModuleTest, InvokesWhatItIsTold) {
  load({});
  Peer& worker = join();
  worker.call("bridge.invoke", Value::object({{"function_id", "x"}, {"data", Value::array({1})}}));
  const Value call = engine.next("invokefunction");
  EXPECT_EQ(json::write(*call.find("data")), "[1]");
  engine.answer(call, 5);
  EXPECT_EQ(worker.answer().int_or("result", 0), 5);
  worker.call("bridge.invoke_async", Value::object({{"function_id", "y"}}));
  EXPECT_EQ(engine.next("invokefunction").find("invocation_id"), nullptr);
  EXPECT_EQ(worker.answer().find("error"), nullptr);
  worker.call("bridge.invoke", Value::object({{"function_id", ""}}));
  EXPECT_NE(worker.answer().find("error"), nullptr);
  worker.call("bridge.invoke",
              Value::object({{"function_id", "x"}, {"timeout_ms", kMaxRemoteTimeout.count() + 1}}));
  EXPECT_NE(worker.answer().find("error"), nullptr);
}

Value entries(size_t count) {
  Value all = Value::array();
  for (size_t i = 0; i < count; ++i)
    all.push_back(Value::object({{"local_function", fmt::format("f{}", i)}}));
  return all;
}

TEST(BridgeConfig, ReadsWhatIsPassedOn) {
  const Result<BridgeConfig> config = read_bridge_config(Value::object(
      {{"url", "ws://127.0.0.1:49134"},
       {"service_id", "svc"},
       {"expose", entries(2)},
       {"forward", Value::array({Value::object(
                       {{"local_function", "g"}, {"remote_function", "h"}, {"timeout_ms", 7}})})}}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->peer.url.host_port(), "127.0.0.1:49134");
  EXPECT_EQ(config->service_name, "svc");
  EXPECT_EQ(config->passed_on.expose.at(1).remote, "f1");
  EXPECT_EQ(config->passed_on.forward.at(0).remote, "h");
  EXPECT_EQ(config->passed_on.forward.at(0).timeout, 7ms);
}

TEST(BridgeConfig, NamesWhatIsWrong) {
  const auto message = [](Value config) {
    const Result<BridgeConfig> read = read_bridge_config(config);
    return read ? std::string() : read.error().message;
  };
  EXPECT_NE(message(Value::object()).find("url"), std::string::npos);
  EXPECT_EQ(message(Value::object({{"url", "wss://h"}, {"ca_file", "ca.pem"}})), "");
  EXPECT_NE(message(Value::object({{"url", "ws://h"}, {"ca_file", "ca.pem"}})).find("ca_file"),
            std::string::npos);
  EXPECT_NE(message(Value::object({{"url", "https://h"}})).find("wss://"), std::string::npos);
  EXPECT_NE(message(Value::object({{"url", "ws://h"}, {"token", "a\nb"}})).find("token"), std::string::npos);
  EXPECT_NE(message(Value::object({{"url", "ws://h"}, {"exposed", 1}})).find("exposed"), std::string::npos);
  EXPECT_NE(message(Value::object({{"url", "ws://h"}, {"forward", entries(1)}})).find("remote_function"),
            std::string::npos);
  EXPECT_EQ(message(Value::object({{"url", "ws://h"}, {"expose", entries(kMaxPassedOn)}})), "");
  EXPECT_NE(message(Value::object({{"url", "ws://h"}, {"expose", entries(kMaxPassedOn + 1)}})), "");
}

}  // namespace
}  // namespace chela::bus::bridge
