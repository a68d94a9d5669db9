#include "bus/config_reader.h"

#include <gtest/gtest.h>

#include "bus/adapter_config.h"

namespace chela::bus {
namespace {

using json::Value;

constexpr std::string_view kMethods[] = {"in_memory", "file_based"};

std::string problem(const ConfigReader& reader) {
  const Result<> finished = reader.finish();
  return finished ? "" : finished.error().message;
}

TEST(ConfigReader, GivesWhatIsThereAndDefaultsForTheRest) {
  const Result<Value> config = json::parse(
      R"({"port":"3111","host":"::1","on":true,"ratio":0.5,"list":["a","b"],"adapter":{"class":"x"},"method":"file_based","none":null})");
  ASSERT_TRUE(config);
  ConfigReader reader("m", *config);
  EXPECT_EQ(reader.integer("port", 1, 0, 65535), 3111);
  EXPECT_EQ(reader.integer("absent", 7, 0, 10), 7);
  EXPECT_EQ(reader.text("host"), "::1");
  EXPECT_EQ(reader.text("none", "d"), "d");
  EXPECT_EQ(reader.flag("on"), true);
  EXPECT_EQ(reader.number("ratio"), 0.5);
  EXPECT_EQ(reader.texts("list"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(reader.choice("method", kMethods), "file_based");
  EXPECT_EQ(reader.choice("other", kMethods), "in_memory");
  ConfigReader adapter = reader.section("adapter");
  EXPECT_EQ(adapter.text("class"), "x");
  EXPECT_EQ(problem(adapter), "");
  EXPECT_EQ(problem(reader), "");
}

TEST(ConfigReader, NamesWhatIsUnknownAndWhatIsKnown) {
  const Value config = Value::object({{"prot", 1}});
  ConfigReader reader("iii-http", config);
  reader.integer("port", 1, 0, 65535);
  reader.text("host");
  EXPECT_EQ(problem(reader), "iii-http: unknown key 'prot' (known: host, port)");
  EXPECT_EQ(problem(ConfigReader("iii-http", config)), "iii-http: unknown key 'prot' (it has no keys)");
}

TEST(ConfigReader, TheFirstProblemCounts) {
  const Value config =
      Value::object({{"port", 70000}, {"on", "maybe"}, {"method", "disk"}, {"parts", "no list"}});
  ConfigReader reader("m", config);
  reader.integer("port", 1, 0, 65535);
  reader.flag("on");
  EXPECT_EQ(problem(reader), "m: port: must be a whole number from 0 to 65535, not 70000");
  ConfigReader second("m", config);
  second.choice("method", kMethods);
  EXPECT_EQ(problem(second), "m: method: must be one of in_memory, file_based, not 'disk'");
  ConfigReader third("m", config);
  EXPECT_TRUE(third.sections("parts").empty());
  EXPECT_EQ(problem(third), R"(m: parts: must be a list, not "no list")");
  EXPECT_EQ(problem(ConfigReader("m", Value(1))), "m: must be a mapping of keys to values");
}

TEST(AdapterConfig, TakesWhatIsBuiltInAndSaysWhatIsNot) {
  constexpr std::string_view kOwn[] = {"modules::pubsub::LocalAdapter", "local"};
  constexpr std::string_view kForeign[] = {"redis"};
  const auto read = [&](std::string_view text) -> Result<Value> {
    const Result<Value> config = json::parse(text);
    ConfigReader module("iii-pubsub", *config);
    return adapter_config(module, {.own = kOwn, .foreign = kForeign});
  };
  EXPECT_EQ(*read("{}"), Value::object());
  EXPECT_EQ(*read(R"({"adapter":{"class":"modules::pubsub::LocalAdapter"}})"), Value::object());
  EXPECT_EQ(read(R"({"adapter":{"name":"local","config":{"a":1}}})")->int_or("a", 0), 1);
  EXPECT_EQ(
      read(R"({"adapter":{"name":"redis"}})").error().message,
      "iii-pubsub: the adapter 'redis' is not supported; use modules::pubsub::LocalAdapter or local, which "
      "needs no server");
  EXPECT_NE(read(R"({"adapter":{"name":"rdis"}})").error().message.find("does not exist"), std::string::npos);
  EXPECT_NE(read(R"({"adapter":{"kind":"local"}})").error().message.find("'kind'"), std::string::npos);
}

}  // namespace
}  // namespace chela::bus
