#include "bus/items/ops.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "bus/items/limits.h"

namespace chela::bus::items {
namespace {

using json::Value;

// What an update makes of a value ("" = there is none), and "code@index" of its errors.
struct Outcome {
  std::string value;
  std::vector<std::string> errors;
  std::string refusal;
};

Outcome update(std::string_view before, std::string_view ops) {
  std::optional<Value> value;
  if (!before.empty()) value = json::parse(before).value();
  const Result<Updated> updated = apply_ops(std::move(value), json::parse(ops).value());
  if (!updated) return {.refusal = updated.error().text()};
  Outcome outcome{.value = json::write(updated->value)};
  for (const OpError& error : updated->errors) {
    EXPECT_FALSE(error.message.empty());
    outcome.errors.push_back(fmt::format("{}@{}", error.code, error.index));
  }
  return outcome;
}
std::string value(std::string_view before, std::string_view ops) {
  const Outcome outcome = update(before, ops);
  EXPECT_EQ(outcome.refusal, "");
  EXPECT_TRUE(outcome.errors.empty()) << outcome.errors.front();
  return outcome.value;
}
std::string error(std::string_view before, std::string_view ops) {
  const Outcome outcome = update(before, ops);
  EXPECT_EQ(outcome.errors.size(), 1U) << ops << outcome.refusal;
  if (!before.empty() && before != "null")
    EXPECT_EQ(outcome.value, before) << "an operation that fails changes nothing";
  return outcome.errors.empty() ? "" : outcome.errors.front();
}

TEST(Ops, Set) {
  EXPECT_EQ(value(R"({"a":1})", R"([{"type":"set","path":"b","value":[2]}])"), R"({"a":1,"b":[2]})");
  EXPECT_EQ(value(R"({"a":1})", R"([{"type":"set","path":"","value":"x"}])"), R"("x")");
  EXPECT_EQ(value("", R"([{"type":"set","path":"a.b","value":1}])"), R"({"a.b":1})");
  EXPECT_EQ(value("null", R"([{"type":"set","path":"a","value":null}])"), R"({"a":null})");
  EXPECT_EQ(error(R"("leaf")", R"([{"type":"set","path":"field","value":1}])"), "set.target_not_object@0");
}

TEST(Ops, IncrementAndDecrement) {
  EXPECT_EQ(value(R"({"n":1})",
                  R"([{"type":"increment","path":"n","by":2},{"type":"decrement","path":"n","by":5}])"),
            R"({"n":-2})");
  EXPECT_EQ(value("", R"([{"type":"increment","path":"n","by":2},{"type":"decrement","path":"m","by":2}])"),
            R"({"n":2,"m":-2})");
  EXPECT_EQ(value("", R"([{"type":"increment","path":"","by":7}])"), "7");
  EXPECT_EQ(value("4", R"([{"type":"decrement","path":"","by":0.5}])"), "3.5");
  EXPECT_EQ(error(R"({"n":"x"})", R"([{"type":"increment","path":"n","by":1}])"), "increment.not_number@0");
  EXPECT_EQ(error(R"({"n":null})", R"([{"type":"decrement","path":"n","by":1}])"), "decrement.not_number@0");
  EXPECT_EQ(error("[]", R"([{"type":"increment","path":"n","by":1}])"), "increment.target_not_object@0");
  EXPECT_EQ(error("[]", R"([{"type":"decrement","path":"n","by":1}])"), "decrement.target_not_object@0");
  EXPECT_EQ(error(R"({"n":9223372036854775807})", R"([{"type":"increment","path":"n","by":1}])"),
            "increment.out_of_range@0");
  EXPECT_EQ(error(R"({"n":1.7e+308})", R"([{"type":"increment","path":"n","by":1.7e308}])"),
            "increment.out_of_range@0");
}

TEST(Ops, Remove) {
  EXPECT_EQ(value(R"({"a":1,"b":2})", R"([{"type":"remove","path":"a"},{"type":"remove","path":"none"}])"),
            R"({"b":2})");
  EXPECT_EQ(value("", R"([{"type":"remove","path":"a"}])"), "{}");
  EXPECT_EQ(error("1", R"([{"type":"remove","path":"a"}])"), "remove.target_not_object@0");
  EXPECT_EQ(error("{}", R"([{"type":"remove","path":""}])"), "remove.path.empty_segment@0");
}

TEST(Ops, MergeIsShallowAndMakesItsWay) {
  EXPECT_EQ(value(R"({"a":{"x":1},"b":2})", R"([{"type":"merge","value":{"a":{"y":2},"c":3}}])"),
            R"({"a":{"y":2},"b":2,"c":3})");
  EXPECT_EQ(value(R"({"s":{"x":1}})", R"([{"type":"merge","path":"s","value":{"y":2}}])"),
            R"({"s":{"x":1,"y":2}})");
  EXPECT_EQ(
      value(
          R"({"s":null,"t":5})",
          R"([{"type":"merge","path":["s","a.b"],"value":{"y":2}},{"type":"merge","path":"t","value":{}}])"),
      R"({"s":{"a.b":{"y":2}},"t":{}})");
  EXPECT_EQ(value("", R"([{"type":"merge","path":[],"value":{"y":2}}])"), R"({"y":2})");
  EXPECT_EQ(value("null", R"([{"type":"merge","path":"","value":{"y":2}}])"), R"({"y":2})");
  EXPECT_EQ(error("5", R"([{"type":"merge","value":{"y":2}}])"), "merge.target_not_object@0");
  EXPECT_EQ(error("5", R"([{"type":"merge","path":["a","b"],"value":{"y":2}}])"),
            "merge.target_not_object@0");
  EXPECT_EQ(error("{}", R"([{"type":"merge","value":[1]}])"), "merge.value.not_an_object@0");
  EXPECT_EQ(error("{}", R"([{"type":"merge"}])"), "merge.value.not_an_object@0");
}

TEST(Ops, AppendPushesConcatenatesAndBegins) {
  EXPECT_EQ(
      value(
          R"({"e":[],"t":"hello"})",
          R"([{"type":"append","path":"e","value":{"k":1}},{"type":"append","path":"t","value":" world"}])"),
      R"({"e":[{"k":1}],"t":"hello world"})");
  EXPECT_EQ(value(R"({"n":null})",
                  R"([{"type":"append","path":"n","value":"x"},{"type":"append","path":"m","value":1}])"),
            R"({"n":"x","m":[1]})");
  EXPECT_EQ(value("", R"([{"type":"append","path":"","value":"x"},{"type":"append","value":"y"}])"),
            R"("xy")");
  EXPECT_EQ(value("", R"([{"type":"append","value":1},{"type":"append","value":"y"}])"), R"([1,"y"])");
  EXPECT_EQ(value("[]", R"([{"type":"append","path":"","value":"x"}])"), R"(["x"])");
  EXPECT_EQ(
      value(
          "",
          R"([{"type":"append","path":["s","a","e"],"value":"first"},{"type":"append","path":["s","a","e"],"value":"third"}])"),
      R"({"s":{"a":{"e":["first","third"]}}})");
  EXPECT_EQ(value(R"({"a":[1,2,3]})", R"([{"type":"append","path":["a","b"],"value":42}])"),
            R"({"a":{"b":[42]}})");
  EXPECT_EQ(value(R"({"e":{"b":["x"]}})", R"([{"type":"append","path":"e.b","value":"flat"}])"),
            R"({"e":{"b":["x"]},"e.b":"flat"})");
  EXPECT_EQ(error(R"({"n":1})", R"([{"type":"append","path":"n","value":"x"}])"), "append.type_mismatch@0");
  EXPECT_EQ(error(R"({"n":"x"})", R"([{"type":"append","path":"n","value":1}])"), "append.type_mismatch@0");
  EXPECT_EQ(error(R"({"e":{"b":{"x":"y"}}})", R"([{"type":"append","path":["e","b"],"value":"z"}])"),
            "append.type_mismatch@0");
  EXPECT_EQ(error(R"("leaf")", R"([{"type":"append","path":"e","value":"z"}])"),
            "append.target_not_object@0");
}

TEST(Ops, OneThatFailsDoesNotStopTheOthers) {
  const Outcome outcome =
      update(R"({"bad":"value","events":{}})",
             R"([{"type":"increment","path":"bad","by":1},{"type":"set","path":"__proto__","value":true},
                                     {"type":"append","path":"events","value":"chunk"},{"type":"set","path":"ok","value":true}])");
  EXPECT_EQ(outcome.value, R"({"bad":"value","events":{},"ok":true})");
  EXPECT_EQ(outcome.errors, (std::vector<std::string>{"increment.not_number@0", "set.path.proto_polluted@1",
                                                      "append.type_mismatch@2"}));
  EXPECT_EQ(json::write(to_json({{.index = 2, .code = "a.b", .message = "m"}})),
            R"([{"op_index":2,"code":"a.b","message":"m"}])");
}

TEST(Ops, APathHasLimits) {
  const std::string deepest =
      fmt::format("[{}]", fmt::join(std::vector<std::string>(kMaxPathSegments, "\"k\""), ","));
  const std::string deeper =
      fmt::format("[{}]", fmt::join(std::vector<std::string>(kMaxPathSegments + 1, "\"k\""), ","));
  const std::string longest = fmt::format("\"{}\"", std::string(kMaxPathSegmentBytes, 'k'));
  const std::string longer = fmt::format("\"{}\"", std::string(kMaxPathSegmentBytes + 1, 'k'));
  const auto merge = [](const std::string& path) {
    return fmt::format(R"([{{"type":"merge","path":{},"value":{{"x":1}}}}])", path);
  };
  value("", merge(deepest));
  value("", merge(longest));
  EXPECT_EQ(error("", merge(deeper)), "merge.path.too_deep@0");
  EXPECT_EQ(error("", merge(longer)), "merge.path.segment_too_long@0");
  EXPECT_EQ(error("", merge(R"(["a",""])")), "merge.path.empty_segment@0");
  for (const char* type : {"set", "append", "increment", "decrement", "remove", "merge"}) {
    for (const char* key : {"__proto__", "constructor", "prototype"}) {
      EXPECT_EQ(error("{}", fmt::format(R"([{{"type":"{}","path":"{}","value":1,"by":1}}])", type, key)),
                fmt::format("{}.path.proto_polluted@0", type));
    }
  }
  EXPECT_EQ(error("{}", R"([{"type":"append","path":["safe","__proto__","x"],"value":1}])"),
            "append.path.proto_polluted@0");
}

TEST(Ops, AMergedValueHasLimits) {
  const auto nested = [](size_t depth) {
    std::string text = "1";
    for (size_t i = 0; i < depth; ++i) text = fmt::format(R"({{"k":{}}})", text);
    return text;
  };
  const auto merge = [](const std::string& text) {
    return fmt::format(R"([{{"type":"merge","value":{}}}])", text);
  };
  const auto keys = [](size_t count) {
    Value object = Value::object();
    for (size_t i = 0; i < count; ++i) object.set(std::to_string(i), 1);
    return json::write(object);
  };
  value("", merge(nested(kMaxMergeDepth)));
  value("", merge(keys(kMaxMergeKeys)));
  EXPECT_EQ(error("", merge(nested(kMaxMergeDepth + 1))), "merge.value.too_deep@0");
  EXPECT_EQ(error("", merge(keys(kMaxMergeKeys + 1))), "merge.value.too_many_keys@0");
  EXPECT_EQ(error("", merge(R"({"constructor":1})")), "merge.value.proto_polluted@0");
}

TEST(Ops, WhatIsSetStaysReadable) {
  const auto lists = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  const auto set = [](const std::string& text) {
    return fmt::format(R"([{{"type":"set","path":"k","value":{}}}])", text);
  };
  value("", set(lists(kMaxUpdatedDepth - 2)));
  EXPECT_EQ(error("{}", set(lists(kMaxUpdatedDepth - 1))), "set.value.too_deep@0");
  const std::string path =
      fmt::format("[{}]", fmt::join(std::vector<std::string>(kMaxPathSegments, "\"k\""), ","));
  EXPECT_EQ(error("{}", fmt::format(R"([{{"type":"append","path":{},"value":{}}}])", path, lists(90))),
            "append.value.too_deep@0");
}

TEST(Ops, WhatAreNoOperationsIsRefusedAsAWhole) {
  for (const char* ops :
       {"{}", "null", R"([1])", R"([{"type":"swap","path":"a"}])", R"([{"path":"a"}])",
        R"([{"type":"set","value":1}])", R"([{"type":"set","path":["a"],"value":1}])",
        R"([{"type":"merge","path":3,"value":{}}])", R"([{"type":"merge","path":["a",3],"value":{}}])",
        R"([{"type":"increment","path":"a"}])", R"([{"type":"increment","path":"a","by":"1"}])",
        R"([{"type":"append","path":"a"}])"}) {
    EXPECT_EQ(update("{}", ops).refusal.substr(0, 17), "invalid_argument:") << ops;
  }
}

TEST(Ops, AnUpdateHasLimits) {
  const auto many = [](size_t count) {
    return fmt::format(
        "[{}]", fmt::join(std::vector<std::string>(count, R"({"type":"increment","path":"n","by":1})"), ","));
  };
  EXPECT_EQ(value("", many(kMaxUpdateOps)), fmt::format(R"({{"n":{}}})", kMaxUpdateOps));
  EXPECT_EQ(update("", many(kMaxUpdateOps + 1)).refusal.substr(0, 9), "too_large");
  // Each operation looks at every member.
  Value wide = Value::object();
  for (size_t i = 0; i <= kMaxUpdateWork / kMaxUpdateOps; ++i) wide.as_object()->append(std::to_string(i), 1);
  const Result<Updated> updated = apply_ops(wide, json::parse(many(kMaxUpdateOps)).value());
  ASSERT_FALSE(updated);
  EXPECT_EQ(updated.error().code, Code::kTooLarge);
}

RC_GTEST_PROP(Ops, IncrementsAddUp, (std::vector<std::int32_t> numbers)) {
  Value ops = Value::array();
  std::int64_t sum = 0;
  if (numbers.size() > kMaxUpdateOps) numbers.resize(kMaxUpdateOps);
  for (const std::int32_t n : numbers) {
    sum += n;
    ops.push_back(Value::object({{"type", n < 0 ? "decrement" : "increment"},
                                 {"path", "n"},
                                 {"by", n < 0 ? -static_cast<std::int64_t>(n) : n}}));
  }
  const Result<Updated> updated = apply_ops(std::nullopt, ops);
  RC_ASSERT(updated && updated->errors.empty());
  RC_ASSERT(updated->value.int_or("n", 0) == sum);
}

}  // namespace
}  // namespace chela::bus::items
