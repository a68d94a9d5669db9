#include "tools/registry.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/strings.h"
#include "tools/names.h"

namespace chela::tools {
namespace {

class NamedTool final : public Tool {
 public:
  explicit NamedTool(std::string name, std::string schema = R"({"type": "object"})")
      : info_{.name = std::move(name), .description = "does nothing", .parameters = parameters(schema)} {}
  const ToolInfo& info() const override { return info_; }
  Approval approval(const json::Value&) const override { return Approval::kNever; }
  Task<Result<ToolResult>> call(ToolContext, json::Value) override { co_return ToolResult::text(""); }

 private:
  ToolInfo info_;
};

Result<> add(Registry& registry, std::string name) {
  return registry.add(std::make_unique<NamedTool>(std::move(name)), "test");
}

TEST(Registry, RefusesWrongAndTakenNames) {
  Registry registry;
  ASSERT_TRUE(add(registry, "time"));
  ASSERT_TRUE(registry.add_alias("clock", "time"));
  EXPECT_EQ(add(registry, "time").error().code, Code::kConflict);
  EXPECT_EQ(add(registry, "clock").error().code, Code::kConflict);
  EXPECT_EQ(registry.add_alias("clock", "time").error().code, Code::kConflict);
  EXPECT_EQ(registry.add_alias("uhr", "zeit").error().code, Code::kNotFound);
  for (const std::string& name : {std::string(), std::string("a b"), std::string("zeit\xC3\xA4"),
                                  std::string(65, 'a'), std::string("a\0b", 3)}) {
    EXPECT_EQ(add(registry, name).error().code, Code::kInvalidArgument) << name;
  }
  EXPECT_TRUE(add(registry, std::string(64, 'a')));
  EXPECT_TRUE(add(registry, "mcp.server:tool-1_x"));
}

TEST(Registry, RefusesSchemasThatNoCallCouldBeCheckedAgainst) {
  Registry registry;
  for (const char* schema : {R"({"type": "string"})", "{}", "[]",
                             R"({"type": "object", "properties": {"a": {"type": "no type"}}})"}) {
    EXPECT_EQ(registry.add(std::make_unique<NamedTool>("x", schema), "test").error().code,
              Code::kInvalidArgument)
        << schema;
  }
}

TEST(Registry, ListsInTheOrderOfNamesWhateverTheOrderOfAdding) {
  Registry registry;
  for (const char* name : {"time", "memory_write", "echo", "memory_read"}) ASSERT_TRUE(add(registry, name));
  ASSERT_TRUE(registry.add_alias("memory_alias", "echo"));
  EXPECT_EQ(registry.names({"*"}), (std::vector<std::string>{"echo", "memory_read", "memory_write", "time"}));
  EXPECT_EQ(registry.names({"time", "memory_*", "memory_read"}),
            (std::vector<std::string>{"memory_read", "memory_write", "time"}));
  EXPECT_TRUE(registry.names({}).empty());
  const std::vector<llm::ToolSpec> specs = registry.specs({"e*o"});
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs[0].name, "echo");
  EXPECT_EQ(registry.find("memory_alias"), registry.find("echo"));
  EXPECT_EQ(registry.find("nothing"), nullptr);
  EXPECT_EQ(registry.group("memory_alias"), "test");
}

TEST(Names, GlobAgreesWithItsDefinition) {
  struct Reference {
    static bool matches(std::string_view pattern, std::string_view text) {
      if (pattern.empty()) return text.empty();
      if (pattern[0] != '*')
        return !text.empty() && text[0] == pattern[0] && matches(pattern.substr(1), text.substr(1));
      for (size_t i = 0; i <= text.size(); ++i) {
        if (matches(pattern.substr(1), text.substr(i))) return true;
      }
      return false;
    }
  };
  rc::check([] {
    const std::string pattern =
        (*rc::gen::container<std::string>(rc::gen::element('a', 'b', '*'))).substr(0, 6);
    const std::string text = (*rc::gen::container<std::string>(rc::gen::element('a', 'b'))).substr(0, 12);
    RC_ASSERT(glob_matches(pattern, text) == Reference::matches(pattern, text));
  });
}

TEST(Names, FindsWhatAWrongNameMeant) {
  const std::vector<std::string> names{"calculator",    "list_dir",     "memory_read",
                                       "memory_search", "memory_write", "time"};
  EXPECT_EQ(nearest_names("search_memory", names).front(), "memory_search");
  EXPECT_EQ(nearest_names("memory_serch", names).front(), "memory_search");
  EXPECT_EQ(nearest_names("calc", names).front(), "calculator");
  EXPECT_EQ(nearest_names("List-Dir", names).front(), "list_dir");
  EXPECT_TRUE(nearest_names("delete_everything_now", names).empty());
  EXPECT_LE(nearest_names("memory", names).size(), kMaxNearestNames);
}

}  // namespace
}  // namespace chela::tools
