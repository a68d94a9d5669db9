#include "tools/registry.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/strings.h"
#include "tools/names.h"

namespace chela::tools {
namespace {

const Scope kScope{.realm = "default", .user = "ann", .agent = ""};

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
  EXPECT_EQ(registry.names(kScope, {"*"}),
            (std::vector<std::string>{"echo", "memory_read", "memory_write", "time"}));
  EXPECT_EQ(registry.names(kScope, {"time", "memory_*", "memory_read"}),
            (std::vector<std::string>{"memory_read", "memory_write", "time"}));
  EXPECT_TRUE(registry.names(kScope, {}).empty());
  const std::vector<llm::ToolSpec> specs = registry.specs(kScope, {"e*o"});
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs[0].name, "echo");
  EXPECT_EQ(registry.find(kScope, "memory_alias"), registry.find(kScope, "echo"));
  EXPECT_EQ(registry.find(kScope, "nothing"), nullptr);
  EXPECT_EQ(registry.group(kScope, "memory_alias"), "test");
}

class FixedSource final : public ToolSource {
 public:
  const std::vector<ToolPtr>& tools(const Scope& scope) override { return scope.user == "ann" ? anns : none; }
  std::uint64_t revision() const override { return changes; }
  std::vector<ToolPtr> anns;
  std::vector<ToolPtr> none;
  std::uint64_t changes = 0;
};

TEST(Registry, SourcesGiveEachUserTheirOwnBehindTheOthers) {
  const Scope bob{.realm = "default", .user = "bob", .agent = ""};
  Registry registry;
  FixedSource source;
  ASSERT_TRUE(add(registry, "time"));
  ASSERT_TRUE(registry.add_alias("clock", "time"));
  registry.add_source(source, "bus");
  for (const char* name : {"clock", "lookup", "time"})
    source.anns.push_back(std::make_shared<NamedTool>(name, R"({"type": "object", "title": "theirs"})"));
  const std::uint64_t before = registry.revision();
  ++source.changes;
  EXPECT_NE(registry.revision(), before);
  EXPECT_EQ(registry.names(kScope, {"*"}), (std::vector<std::string>{"lookup", "time"}));
  EXPECT_EQ(registry.names(bob, {"*"}), (std::vector<std::string>{"time"}));
  EXPECT_EQ(registry.specs(kScope, {"look*"}).size(), 1u);
  EXPECT_EQ(registry.find(kScope, "lookup"), source.anns[1]);
  EXPECT_EQ(registry.find(bob, "lookup"), nullptr);
  EXPECT_EQ(registry.find(kScope, "clock"), registry.find(bob, "time")) << "taken names stay";
  EXPECT_EQ(registry.group(kScope, "lookup"), "bus");
  EXPECT_TRUE(registry.has_own(kScope));
  EXPECT_FALSE(registry.has_own(bob));
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
