#include "config/toml_edit.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/utf8.h"
#include "config/toml_file.h"

namespace chela::config {
namespace {

std::string set(std::string_view text, std::string_view key, std::string_view value) {
  const Result<std::string> edited = set_toml_text(text, key, value, "config.toml");
  return edited ? *edited : "error: " + edited.error().message;
}

TEST(TomlEdit, ChangesTheValueAndNothingElse) {
  EXPECT_EQ(set("# mine\n[llm]\nmodel = 'a'   # good one\nother = 1\n", "llm.model", "b"),
            "# mine\n[llm]\nmodel = \"b\"   # good one\nother = 1\n");
  EXPECT_EQ(set("llm.model = \"a\"\n", "llm.model", "b"), "llm.model = \"b\"\n");
  EXPECT_EQ(set("llm = { model = 'a', foreign = [1, 2] }", "llm.model", "b"),
            "llm = { model = \"b\", foreign = [1, 2] }");
  EXPECT_EQ(set("[llm]\nmodel = 7 # a number\n", "llm.model", "b"), "[llm]\nmodel = \"b\" # a number\n");
  EXPECT_EQ(set("llm = { \"\xc3\xa4\" = '\xe2\x82\xac', model = 'a' } # \xc3\xa4\n", "llm.model", "b"),
            "llm = { \"\xc3\xa4\" = '\xe2\x82\xac', model = \"b\" } # \xc3\xa4\n");
}

TEST(TomlEdit, AddsToTheSectionOrMakesOne) {
  EXPECT_EQ(set("", "llm.model", "b"), "[llm]\nmodel = \"b\"\n");
  EXPECT_EQ(set("[gateway]\nport = 1", "llm.model", "b"), "[gateway]\nport = 1\n\n[llm]\nmodel = \"b\"\n");
  EXPECT_EQ(set("[llm] # models\n# comment\nbackend = 'x'\n[gateway]\nport = 1\n", "llm.model", "b"),
            "[llm] # models\nmodel = \"b\"\n# comment\nbackend = 'x'\n[gateway]\nport = 1\n");
  EXPECT_EQ(set("[llm]", "llm.model", "b"), "[llm]\nmodel = \"b\"\n");
}

TEST(TomlEdit, ValuesAreQuoted) {
  EXPECT_EQ(set("", "llm.model", "a\"b\\c\nd"), "[llm]\nmodel = \"a\\\"b\\\\c\\nd\"\n");
}

TEST(TomlEdit, WhatCannotBeSetIsLeftToAPerson) {
  EXPECT_TRUE(set("[llm\n", "llm.model", "b").starts_with("error: config.toml:1"));
  EXPECT_TRUE(set("llm = { backend = 'x' }\n", "llm.model", "b").starts_with("error: "));
  EXPECT_TRUE(set("text = '''\n[llm]\n'''\n", "llm.model", "b").starts_with("error: "));
}

TEST(TomlEdit, AnyValueComesBack) {
  EXPECT_TRUE(rc::check([](const std::string& first, const std::string& second) {
    const std::string one = utf8::sanitize(first);
    const std::string two = utf8::sanitize(second);
    if ((one + two).find('\0') != std::string::npos) return;
    const std::string text = set(set("# kept\n", "llm.model", one), "llm.model", two);
    const auto read = read_toml(text, "config.toml");
    RC_ASSERT((read && read->size() == 1 && read->front().text == two));
    RC_ASSERT(text.starts_with("# kept\n"));
  }));
}

}  // namespace
}  // namespace chela::config
