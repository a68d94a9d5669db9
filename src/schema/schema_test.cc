#include "schema/schema.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/limits.h"

namespace chela::schema {
namespace {

using json::Value;

Value parsed(std::string_view text) { return json::parse(text).value(); }

std::string fault(std::string_view schema, std::string_view value) {
  const Result<> checked = validate(parsed(schema), parsed(value));
  if (checked) return "";
  EXPECT_EQ(checked.error().code, Code::kUnprocessable);
  return checked.error().message;
}

constexpr std::string_view kReadFile = R"({"type":"object","properties":{
  "path":{"type":"string","minLength":1},"offset":{"type":"integer","minimum":1},"mode":{"enum":["text","bytes"]},
  "tags":{"type":"array","items":{"type":"string"},"maxItems":2}},
  "required":["path"],"additionalProperties":false})";

TEST(Validate, AcceptsWhatFits) {
  EXPECT_EQ(fault(kReadFile, R"({"path":"a","offset":1,"mode":"text","tags":["x","y"]})"), "");
  EXPECT_EQ(fault(kReadFile, R"({"path":"a","offset":2.0})"), "");
  EXPECT_EQ(fault("{}", "[1,{}]"), "");
  EXPECT_EQ(fault("true", "null"), "");
}

TEST(Validate, SaysWhereWhatWasExpectedAndWhatWasGiven) {
  EXPECT_EQ(fault(kReadFile, "{}"), "the value: missing property \"path\" (string)");
  EXPECT_EQ(fault(kReadFile, R"({"path":7})"), "/path: expected string, given integer 7");
  EXPECT_EQ(fault(kReadFile, R"({"path":"a","offset":0})"), "/offset: expected at least 1, given 0");
  EXPECT_EQ(fault(kReadFile, R"({"path":"a","offset":1.5})"), "/offset: expected integer, given number 1.5");
  EXPECT_EQ(fault(kReadFile, R"({"path":"a","mode":"hex"})"),
            "/mode: expected one of [\"text\",\"bytes\"], given string \"hex\"");
  EXPECT_EQ(fault(kReadFile, R"({"path":"a","tags":["x",1]})"), "/tags/1: expected string, given integer 1");
  EXPECT_EQ(fault(kReadFile, R"({"path":"a","tags":["x","y","z"]})"),
            "/tags: expected at most 2 items, given 3");
  EXPECT_EQ(fault(kReadFile, R"({"path":"a","file/~":1})"),
            "/file~1~0: unknown property; there are path, offset, mode, tags");
  EXPECT_EQ(fault(kReadFile, "[]"), "the value: expected object, given array []");
  EXPECT_EQ(fault(kReadFile, R"({"path":"","offset":0})"),
            "/path: expected at least 1 characters, given 0; /offset: expected at least 1, given 0");
}

TEST(Validate, CombinesSchemas) {
  constexpr std::string_view kEither = R"({"anyOf":[{"type":"string"},{"type":"integer","maximum":5}]})";
  EXPECT_EQ(fault(kEither, "\"x\""), "");
  EXPECT_EQ(fault(kEither, "5"), "");
  EXPECT_EQ(fault(kEither, "6"),
            "the value: fits none of the alternatives (the value: expected string, given integer 6; or the "
            "value: expected at most 5, given 6)");
  EXPECT_EQ(fault(R"({"oneOf":[{"type":"number"},{"minimum":3}]})", "4"),
            "the value: fits 2 alternatives, expected exactly one");
  EXPECT_EQ(fault(R"({"allOf":[{"type":"integer"},{"minimum":3}]})", "2"),
            "the value: expected at least 3, given 2");
  EXPECT_EQ(fault(R"({"type":["string","null"]})", "1"),
            "the value: expected string or null, given integer 1");
  EXPECT_EQ(fault(R"({"const":{"a":1}})", R"({"a":2})"),
            "the value: expected {\"a\":1}, given object {\"a\":2}");
  EXPECT_EQ(fault(R"({"additionalProperties":{"type":"integer"}})", R"({"a":"b"})"),
            "/a: expected integer, given string \"b\"");
  EXPECT_EQ(fault(R"({"type":"string","pattern":"^[a-z]+$"})", "\"A\""),
            "the value: expected text that matches ^[a-z]+$, given string \"A\"");
  EXPECT_EQ(fault(R"({"maxLength":2})", "\"äöü\""), "the value: expected at most 2 characters, given 3");
}

TEST(Validate, NamesAtMostSoManyFaults) {
  Value list = Value::array();
  for (size_t i = 0; i < kMaxSchemaFaults + 5; ++i) list.push_back("x");
  const Result<> checked = validate(parsed(R"({"items":{"type":"integer"}})"), list);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find(fmt::format("/{}:", kMaxSchemaFaults - 1)), std::string::npos);
  EXPECT_EQ(checked.error().message.find(fmt::format("/{}:", kMaxSchemaFaults)), std::string::npos);
}

TEST(Validate, RefusesSchemasThatAreTooDeepOrWrong) {
  Value schema = parsed(R"({"type":"integer"})");
  Value value = 1;
  for (int i = 0; i <= kMaxSchemaDepth; ++i) {
    schema = Value::object({{"items", schema}});
    Value outer = Value::array();
    outer.push_back(value);
    value = outer;
  }
  EXPECT_EQ(validate(schema, value).error().code, Code::kInvalidArgument);
  EXPECT_EQ(check_schema(schema).error().code, Code::kInvalidArgument);
  EXPECT_FALSE(validate(parsed(R"({"pattern":"("})"), "x"));
  EXPECT_TRUE(check_schema(parsed(kReadFile)));
  for (const std::string_view wrong : {R"({"type":"text"})", R"({"pattern":"("})", R"({"properties":[]})",
                                       R"({"anyOf":[]})", R"({"items":5})", "[]"}) {
    EXPECT_FALSE(check_schema(parsed(wrong))) << wrong;
  }
}

TEST(Defaults, FillWhatIsMissingAtEveryDepth) {
  const Value schema = parsed(R"({"properties":{"limit":{"type":"integer","default":10},
    "where":{"default":{},"properties":{"depth":{"default":3}}},"list":{"items":{"properties":{"x":{"default":true}}}}}})");
  Value value = parsed(R"({"limit":5,"list":[{},{"x":false}]})");
  apply_defaults(schema, value);
  EXPECT_EQ(value, parsed(R"({"limit":5,"list":[{"x":true},{"x":false}],"where":{"depth":3}})"));
}

TEST(Coerce, GivesTextTheTypeOfItsSchema) {
  EXPECT_EQ(coerce(parsed(R"({"type":"integer"})"), "5"), Value(5));
  EXPECT_EQ(coerce(parsed(R"({"type":"integer"})"), "five"), Value("five"));
  EXPECT_EQ(coerce(parsed(R"({"type":["integer","string"]})"), "5"), Value("5"));
  EXPECT_EQ(coerce(parsed(R"({"type":"boolean"})"), "true"), Value(true));
  EXPECT_EQ(coerce(parsed(R"({"type":"boolean"})"), "0"), Value(false));
  EXPECT_EQ(coerce(parsed(R"({"enum":[1,2]})"), "2"), Value(2));
  EXPECT_EQ(coerce(parsed(R"({"type":"array","items":{"type":"integer"}})"), "7"), parsed("[7]"));
  EXPECT_EQ(coerce(parsed(R"({"type":"array"})"), R"(["a",1])"), parsed(R"(["a",1])"));
  EXPECT_EQ(coerce(parsed(R"({"type":"object"})"), R"({"a":1})"), parsed(R"({"a":1})"));
  EXPECT_EQ(coerce(parsed(R"({"anyOf":[{"type":"number"},{"type":"null"}]})"), "1.5"), Value(1.5));
  EXPECT_EQ(coerce(parsed("{}"), "5"), Value("5"));
}

TEST(Coerce, IsTheInverseOfWriting) {
  rc::check("numbers and flags survive the way through text",
            [](std::int64_t number, bool flag, const std::string& text) {
              RC_ASSERT(coerce(parsed(R"({"type":"integer"})"), std::to_string(number)) == Value(number));
              RC_ASSERT(coerce(parsed(R"({"type":"boolean"})"), flag ? "true" : "false") == Value(flag));
              RC_ASSERT(coerce(parsed(R"({"type":"string"})"), text) == Value(text));
            });
  rc::check("what coerce makes of any text never fits by accident another type", [](const std::string& text) {
    const Value made = coerce(parsed(R"({"type":"integer"})"), text);
    RC_ASSERT((made.is_integer() || made == Value(text)));
  });
}

}  // namespace
}  // namespace chela::schema
