#include "config/yaml.h"

#include <gtest/gtest.h>

namespace chela::config {
namespace {

std::string read(std::string_view text) {
  const Result<json::Value> value = parse_yaml(text, "c.yaml");
  return value ? json::write(*value) : value.error().message;
}

TEST(Yaml, ScalarsAreOfTheCoreSchema) {
  EXPECT_EQ(
      read("[~, null, true, False, no, 'true', \"1\", 1, -2, +3, 007, 0x1f, 0o17, 1.5, .5, 1., 1e3, -]"),
      R"([null,null,true,false,"no","true","1",1,-2,3,7,31,15,1.5,0.5,1,1000.0,"-"])");
  EXPECT_EQ(read("[1.2.3, 0x, 1e, ::1, 12:30, !!str 12, '']"),
            R"(["1.2.3","0x","1e","::1","12:30","12",""])");
  EXPECT_EQ(read("port: 3111\nhost: 0.0.0.0\nempty:\n"), R"({"port":3111,"host":"0.0.0.0","empty":null})");
  EXPECT_EQ(read("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(read(""), "null");
}

TEST(Yaml, AliasesAreWrittenOut) { EXPECT_EQ(read("a: &x {k: 1}\nb: *x"), R"({"a":{"k":1},"b":{"k":1}})"); }

TEST(Yaml, MistakesHaveTheirLine) {
  EXPECT_EQ(read("a: 1\nb: 2\na: 3"), "c.yaml:3: the key 'a' occurs twice");
  EXPECT_EQ(read("a: 1\n[x]: 2"), "c.yaml:2: a key must be a text");
  EXPECT_EQ(read("\n- !secret x"), "c.yaml:2: the tag !secret means nothing here");
  EXPECT_NE(read("a: [1,\nb: }").find("c.yaml:2: "), std::string::npos);
  EXPECT_EQ(read("a: 1\n---\nb: 2"), "c.yaml: has several documents; one is expected");
  // The library takes the end of this one for the beginning of another, over and over.
  EXPECT_TRUE(read(",ort: 34}\nmodules:  -! csl:amodurport: 34}\nbac:smoduletreams:  -! csl:amodurbac:stream")
                  .starts_with("c.yaml"));
  EXPECT_EQ(read("a: \xff"), "c.yaml: is not UTF-8");
}

TEST(Yaml, SizeDepthAndNumberOfValuesAreLimited) {
  EXPECT_NE(read(std::string(kMaxYamlBytes + 1, ' ')).find("are the limit"), std::string::npos);
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(read(nested(kMaxYamlDepth)), nested(kMaxYamlDepth));
  EXPECT_NE(read(nested(kMaxYamlDepth + 2)).find("nested too deeply"), std::string::npos);
  EXPECT_NE(read(nested(200'000)).find("c.yaml"), std::string::npos);
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += fmt::format("{}: &{} [", c, c);
    for (int i = 0; i < 10; ++i) bomb += fmt::format("*{},", static_cast<char>(c - 1));
    bomb += "]\n";
  }
  EXPECT_NE(read(bomb).find("too many values"), std::string::npos);
}

}  // namespace
}  // namespace chela::config
