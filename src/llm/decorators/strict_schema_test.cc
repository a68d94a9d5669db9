#include "llm/decorators/strict_schema.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/limits.h"
#include "schema/schema.h"

namespace chela::llm {
namespace {

json::Value parsed(std::string_view text) { return *json::parse(text); }

TEST(StrictSchema, EveryPropertyIsRequiredAndWhatWasOptionalMayBeNull) {
  EXPECT_EQ(
      strict_schema(parsed(
          R"({"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"},"e":{"type":"string","enum":["x"]},"u":{"$ref":"#/x"},"l":{"type":["string","integer"]}},"required":["a"]})")),
      parsed(
          R"({"type":"object","properties":{"b":{"type":["integer","null"]},"a":{"type":"string"},"e":{"type":["string","null"],"enum":["x",null]},"u":{"anyOf":[{"$ref":"#/x"},{"type":"null"}]},"l":{"type":["string","integer","null"]}},"required":["a","b","e","l","u"],"additionalProperties":false})"));
}

TEST(StrictSchema, ReachesEverySubschema) {
  const json::Value strict = strict_schema(parsed(
      R"({"type":"array","items":{"properties":{"a":{}}},"anyOf":[{"properties":{"b":{}}}],"$defs":{"d":{"properties":{"c":{}}}},"not":{"properties":{"n":{}}}})"));
  for (const std::string_view path : {"items", "not"})
    EXPECT_EQ(strict.find(path)->bool_or("additionalProperties", true), false);
  EXPECT_EQ(strict.find("anyOf")->as_array()->front().bool_or("additionalProperties", true), false);
  EXPECT_EQ(strict.find("$defs")->find("d")->bool_or("additionalProperties", true), false);
}

TEST(StrictSchema, MapsStayMaps) {
  const json::Value map = parsed(R"({"type":"object","additionalProperties":{"type":"string"}})");
  EXPECT_EQ(strict_schema(map), map);
  EXPECT_EQ(strict_schema(parsed(R"({"type":"object"})")), parsed(R"({"type":"object"})"));
}

TEST(StrictSchema, DeeperThanTheLimitNothingIsChanged) {
  json::Value deep = parsed(R"({"properties":{"a":{}}})");
  const json::Value leaf = deep;
  for (int i = 0; i < kMaxSchemaDepth + 1; ++i) deep = json::Value::object({{"items", deep}});
  json::Value strict = strict_schema(deep);
  for (int i = 0; i < kMaxSchemaDepth + 1; ++i) strict = json::Value(*strict.find("items"));
  EXPECT_EQ(strict, leaf);
}

TEST(StrictSchema, ANullThatSaysLeftOutIsLeftOut) {
  const json::Value schema = parsed(
      R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"n":{"type":["string","null"]},"any":{},"o":{"type":"object","properties":{"x":{"type":"string"}}},"l":{"type":"array","items":{"type":"object","properties":{"y":{"type":"string"}}}}},"required":["a"]})");
  EXPECT_EQ(
      without_fillers(
          parsed(
              R"({"a":null,"b":null,"n":null,"any":null,"o":{"x":null},"l":[{"y":null},{"y":"z"}],"other":null})"),
          schema),
      parsed(R"({"a":null,"n":null,"any":null,"o":{},"l":[{},{"y":"z"}],"other":null})"));
  EXPECT_EQ(without_fillers(parsed("3"), schema), parsed("3"));
}

// A schema of objects, arrays and plain types.
rc::Gen<json::Value> schemas(int depth) {
  return rc::gen::exec([depth]() -> json::Value {
    const int kind = *rc::gen::inRange(0, depth > 0 ? 5 : 3);
    if (kind == 0) return json::Value::object({{"type", "string"}});
    if (kind == 1) return json::Value::object({{"type", "integer"}});
    if (kind == 2) return json::Value::object({{"enum", json::Value::array({"p", 7})}});
    if (kind == 3) return json::Value::object({{"type", "array"}, {"items", *schemas(depth - 1)}});
    json::Value properties = json::Value::object();
    json::Value required = json::Value::array();
    const int count = *rc::gen::inRange(1, 4);
    for (int i = 0; i < count; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      properties.set(name, *schemas(depth - 1));
      if (*rc::gen::arbitrary<bool>()) required.push_back(name);
    }
    return json::Value::object({{"type", "object"}, {"properties", properties}, {"required", required}});
  });
}

// A value that the strict schema allows; null wherever it may be.
json::Value sparest(const json::Value& schema) {
  const json::Value* type = schema.find("type");
  if (const json::Value* choices = schema.find("anyOf")) return sparest(choices->as_array()->back());
  if (type != nullptr && type->as_array() != nullptr) return nullptr;
  if (type == nullptr) return "p";
  if (*type->as_string() == "null") return nullptr;
  if (*type->as_string() == "string") return "s";
  if (*type->as_string() == "integer") return 1;
  if (*type->as_string() == "array") return json::Value::array({sparest(*schema.find("items"))});
  json::Value out = json::Value::object();
  for (const json::Member& each : *schema.find("properties")->as_object())
    out.set(each.key, sparest(each.value));
  return out;
}

TEST(StrictSchema, ItIsItsOwnStrictFormAndItsAnswersFitTheOriginal) {
  EXPECT_TRUE(rc::check([] {
    const json::Value schema = *schemas(4);
    const json::Value strict = strict_schema(schema);
    RC_ASSERT(strict_schema(strict) == strict);
    const json::Value answer = sparest(strict);
    RC_ASSERT(schema::validate(strict, answer).has_value());
    RC_ASSERT(schema::validate(schema, without_fillers(answer, schema)).has_value());
  }));
}

}  // namespace
}  // namespace chela::llm
