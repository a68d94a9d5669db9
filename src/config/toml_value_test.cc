#include "config/toml_value.h"

#include <gtest/gtest.h>

namespace chela::config {
namespace {

TEST(TomlValue, EveryKindHasItsJson) {
  const Result<json::Value> value = parse_toml_value(
      "on = true\nn = 3\nx = 0.5\nt = \"a\"\nlist = [1, \"b\", [2]]\nday = 2026-11-22\n[table.inner]\nk = "
      "'v'\n[[rows]]\na = 1\n[[rows]]\na = "
      "2\n",
      "f.toml");
  ASSERT_TRUE(value) << value.error().text();
  EXPECT_EQ(
      *value,
      *json::parse(
          R"({"on":true,"n":3,"x":0.5,"t":"a","list":[1,"b",[2]],"day":"2026-11-22","table":{"inner":{"k":"v"}},"rows":[{"a":1},{"a":2}]})"));
}

TEST(TomlValue, AMistakeIsNamedWithItsLine) {
  const Result<json::Value> value = parse_toml_value("a = 1\nb = \n", "f.toml");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(value.error().message.starts_with("f.toml:2: ")) << value.error().message;
}

TEST(TomlValue, DepthIsLimited) { EXPECT_FALSE(parse_toml_value("a = " + std::string(5000, '['), "f.toml")); }

}  // namespace
}  // namespace chela::config
