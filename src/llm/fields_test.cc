#include "llm/fields.h"

#include <gtest/gtest.h>

namespace chela::llm {
namespace {

json::Value parsed(std::string_view text) { return *json::parse(text); }

TEST(DataFiles, TheLastOneIsUppermostKeyByKey) {
  const std::vector<DataFile> files{{"ours", parsed(R"({"s":{"a":{"x":1,"l":[1,2]},"b":{}}})")},
                                    {"theirs", parsed(R"({"s":{"a":{"l":[3]},"c":{}}})")}};
  EXPECT_EQ(overlaid(files), parsed(R"({"s":{"a":{"x":1,"l":[3]},"b":{},"c":{}}})"));
  EXPECT_EQ(origin_of(files, "s", "a"), "theirs");
  EXPECT_EQ(origin_of(files, "s", "b"), "ours");
  EXPECT_EQ(origin_of(files, "s", ""), "theirs");
  EXPECT_EQ(overlaid({}), json::Value::object());
}

TEST(Fields, EachTypeIsReadAndWhatIsLeftOutStays) {
  const json::Value table =
      parsed(R"({"t":"a","b":true,"n":3,"p":0.5,"l":["x","y"],"h":{"k":"v"},"in":{"q":1}})");
  Fields fields(*table.as_object(), "f");
  std::string text;
  std::string kept = "kept";
  bool flag = false;
  std::int64_t number = 0;
  std::optional<double> price;
  std::vector<std::string> list;
  std::vector<std::pair<std::string, std::string>> pairs;
  fields.read("t", text);
  fields.read("none", kept);
  fields.read("b", flag);
  fields.read("n", number);
  fields.read("p", price);
  fields.read("l", list);
  fields.read("h", pairs);
  ASSERT_NE(fields.table("in"), nullptr);
  ASSERT_TRUE(fields.finish());
  EXPECT_EQ(text, "a");
  EXPECT_EQ(kept, "kept");
  EXPECT_TRUE(flag);
  EXPECT_EQ(number, 3);
  EXPECT_EQ(price, 0.5);
  EXPECT_EQ(list, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(pairs, (std::vector<std::pair<std::string, std::string>>{{"k", "v"}}));
}

TEST(Fields, TheFirstMistakeIsNamed) {
  const auto mistake = [](std::string_view json_text, auto&& read) {
    const json::Value table = parsed(json_text);
    Fields fields(*table.as_object(), "f");
    read(fields);
    const Result<> done = fields.finish();
    return done ? std::string() : done.error().message;
  };
  std::string text;
  std::int64_t number = 0;
  std::vector<std::string> list;
  EXPECT_EQ(mistake(R"({"t":1})", [&](Fields& f) { f.read("t", text); }), "f: 't' must be a text");
  EXPECT_EQ(mistake(R"({"n":-1})", [&](Fields& f) { f.read("n", number); }),
            "f: 'n' must be a whole number from 0 on");
  EXPECT_EQ(mistake(R"({"l":[1]})", [&](Fields& f) { f.read("l", list); }), "f: 'l' must be a list of texts");
  EXPECT_EQ(mistake(R"({"x":1})", [](Fields&) {}), "f: there is no key 'x'");
  EXPECT_EQ(mistake(R"({"t":1,"x":1})", [&](Fields& f) { f.read("t", text); }), "f: 't' must be a text");
}

}  // namespace
}  // namespace chela::llm
