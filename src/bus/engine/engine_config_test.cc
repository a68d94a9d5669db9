#include "bus/engine/engine_config.h"

#include <gtest/gtest.h>

#include "bus/engine/expand.h"

namespace chela::bus {
namespace {

std::optional<std::string> variable(std::string_view name) {
  if (name == "PORT") return "4000";
  if (name == "EMPTY") return "";
  return std::nullopt;
}

std::string expanded(std::string_view text) {
  const Result<std::string> out = expand(text, "c.yaml", variable);
  return out ? *out : out.error().message;
}

TEST(Expand, VariablesAndWhatCountsWithoutThem) {
  EXPECT_EQ(expanded("port: ${PORT}, ${PORT:1}, ${NONE:7}, [${NONE:}], [${EMPTY:x}]"),
            "port: 4000, 4000, 7, [], []");
  EXPECT_EQ(expanded("${NONE:http://localhost:4317}/x"), "http://localhost:4317/x");
  EXPECT_EQ(expanded("$PORT ${} ${:x} ${PORT"), "$PORT ${} ${:x} ${PORT");
  EXPECT_EQ(expanded("a\nb: ${NONE}"),
            "c.yaml:2: the environment variable NONE is not set; set it, or write ${NONE:value}");
  std::string many;
  for (size_t i = 0; i <= kMaxExpandedBytes / 4; ++i) many += "${PORT}";
  EXPECT_NE(expanded(many).find("is longer than"), std::string::npos);
}

Result<EngineConfig> read(std::string_view text) {
  const Result<json::Value> document = json::parse(text);
  EXPECT_TRUE(document) << text;
  return read_engine_config(*document, "c.yaml");
}
std::string problem(std::string_view text) {
  const Result<EngineConfig> config = read(text);
  return config ? "" : config.error().message;
}

TEST(EngineConfig, BothDialectsAreRead) {
  const Result<EngineConfig> config = read(R"j({"port":49199,
    "modules":[{"class":"modules::state::StateModule","config":{"a":1}},{"class":"modules::telemetry::TelemetryModule"}],
    "workers":[{"name":"iii-http"},{"name":"iii-engine-functions"},
               {"name":"iii-worker-manager"},
               {"name":"iii-worker-manager","config":{"port":49135,"host":"::","rbac":{"auth_function_id":"a::b",
                 "expose_functions":["match(\"a::*\")",{"metadata":{"public":true,"name":"match('x*')"}}]}}}]})j");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->modules.size(), 2u);
  EXPECT_EQ(config->modules[0].name, "modules::state::StateModule");
  EXPECT_EQ(config->modules[0].config.int_or("a", 0), 1);
  EXPECT_EQ(config->modules[1].name, "iii-http");
  ASSERT_EQ(config->listeners.size(), 2u);
  EXPECT_EQ(config->listeners[0].port, 49199);
  EXPECT_EQ(config->listeners[0].host, "127.0.0.1");
  EXPECT_FALSE(config->listeners[0].rbac);
  const RbacConfig& rbac = *config->listeners[1].rbac;
  EXPECT_EQ(rbac.auth_function_id, "a::b");
  ASSERT_EQ(rbac.expose.size(), 2u);
  EXPECT_EQ(rbac.expose[0].id_pattern, "a::*");
  EXPECT_EQ(rbac.expose[1].metadata[0].value, json::Value(true));
  EXPECT_EQ(rbac.expose[1].metadata[1].pattern, "x*");
}

TEST(EngineConfig, WithoutAnythingThereIsAListenerOnLoopback) {
  const Result<EngineConfig> config = read("null");
  ASSERT_TRUE(config);
  ASSERT_EQ(config->listeners.size(), 1u);
  EXPECT_EQ(config->listeners[0].port, kBusPort);
  EXPECT_EQ(config->listeners[0].host, "127.0.0.1");
}

TEST(EngineConfig, MistakesAreNamed) {
  EXPECT_EQ(problem(R"({"prot":1})"), "c.yaml: unknown key 'prot' (known: modules, port, workers)");
  EXPECT_EQ(problem(R"({"port":"x"})"), R"(c.yaml: port: must be a whole number from 0 to 65535, not "x")");
  EXPECT_EQ(problem(R"({"modules":{}})"), "c.yaml: modules: must be a list, not {}");
  EXPECT_EQ(problem(R"({"modules":[7]})"), "c.yaml: modules[0]: must be a mapping of keys to values");
  EXPECT_EQ(problem(R"({"modules":[{"config":{}}]})"),
            "c.yaml: modules[0]: class: is missing: an entry of modules says which one it is");
  EXPECT_EQ(problem(R"({"modules":[{"class":"x","cfg":{}}]})"),
            "c.yaml: modules[0]: unknown key 'cfg' (known: class, config, name)");
  const auto listener = [](std::string_view config) {
    return fmt::format(R"({{"workers":[{{"name":"iii-worker-manager","config":{}}}]}})", config);
  };
  EXPECT_EQ(problem(listener(R"({"prot":1})")),
            "c.yaml: workers[0] (iii-worker-manager): unknown key 'prot' (known: handshake_timeout_ms, host, "
            "middleware_function_id, port, rbac)");
  EXPECT_NE(problem(listener(R"({"rbac":{"expose_functions":["a::*"]}})")).find("is no match"),
            std::string::npos);
  EXPECT_NE(problem(listener(R"({"rbac":{"expose_functions":[{"meta":{}}]}})")).find("expose_functions"),
            std::string::npos);
  EXPECT_NE(problem(listener(R"({"rbac":{"expose_functions":[7]}})")).find("expose_functions"),
            std::string::npos);
  EXPECT_NE(problem(listener(R"({"rbac":{"auth":"x"}})")).find("unknown key 'auth'"), std::string::npos);
  EXPECT_NE(
      problem(R"({"workers":[{"name":"iii-worker-manager"},{"name":"iii-worker-manager"}]})").find("already"),
      std::string::npos);
}

TEST(EngineConfig, ModulesAndListenersAreLimited) {
  std::string modules;
  for (size_t i = 0; i <= kMaxConfiguredModules; ++i) modules += R"({"class":"x"},)";
  modules.pop_back();
  EXPECT_NE(problem(fmt::format(R"({{"modules":[{}]}})", modules)).find("more than"), std::string::npos);
  std::string listeners;
  for (size_t i = 0; i <= kMaxListeners; ++i)
    listeners += fmt::format(R"({{"name":"iii-worker-manager","config":{{"port":{}}}}},)", i + 1);
  listeners.pop_back();
  EXPECT_NE(problem(fmt::format(R"({{"workers":[{}]}})", listeners)).find("more than"), std::string::npos);
}

}  // namespace
}  // namespace chela::bus
