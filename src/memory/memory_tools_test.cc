#include "memory/memory_tools.h"

#include "hooks/hooks.h"
#include "memory/memory_fixture.h"
#include "tools/runner.h"

namespace chela::memory {
namespace {

class MemoryTools : public MemoryTest {
 protected:
  MemoryTools() { EXPECT_TRUE(add_memory_tools(registry, *workspace)); }
  ~MemoryTools() override { wait(runner.close()); }

  std::string call(std::string name, std::string arguments) {
    const tools::CallSite site{.scope = scope, .permissions = {{"*"}}};
    const tools::PreparedCall prepared = wait(runner.prepare(
        site, {.id = "1", .name = std::move(name), .arguments = std::move(arguments)}, nullptr, {}));
    EXPECT_NE(prepared.decision, tools::PreparedCall::Decision::kAsk);
    if (prepared.decision == tools::PreparedCall::Decision::kRefused) return prepared.refusal;
    const Result<tools::FinishedCall> finished = wait(runner.execute(site, prepared, {}));
    EXPECT_TRUE(finished);
    return finished ? finished->preview : "";
  }
  json::Value value(std::string name, std::string arguments) {
    const std::string text = call(std::move(name), std::move(arguments));
    const Result<json::Value> parsed = json::parse(text);
    EXPECT_TRUE(parsed) << text;
    return parsed ? *parsed : json::Value();
  }

  hooks::Chain chain{loop};
  tools::Registry registry;
  tools::Runner runner{loop, registry, chain, {.timeout = 60s, .max_result_bytes = 100'000}};
};

TEST_F(MemoryTools, WriteToTheDailyLogStampsAndAlwaysAppends) {
  loop.advance(std::chrono::hours(9) + std::chrono::minutes(5));
  EXPECT_EQ(json::write(value("memory_write", R"({"content": "bought milk"})")),
            R"({"status":"written","path":"daily/2026-01-01.md","append":true,"content_length":22})");
  value("memory_write", R"({"content": "and bread", "target": "daily_log", "append": false})");
  EXPECT_EQ(content_of("daily/2026-01-01.md"), "[09:05:00] bought milk\n[09:05:00] and bread");
}

TEST_F(MemoryTools, WriteToTheNamedTargetsAndPaths) {
  value("memory_write", R"({"content": "likes tea", "target": "memory"})");
  value("memory_write", R"({"content": "likes cake", "target": "memory"})");
  EXPECT_EQ(content_of("MEMORY.md"), "likes tea\n\nlikes cake");
  EXPECT_FALSE(value("memory_write", R"({"content": "only this", "target": "memory", "append": false})")
                   .bool_or("append", true));
  EXPECT_EQ(content_of("MEMORY.md"), "only this");
  value("memory_write", R"({"content": "check the mail", "target": "heartbeat"})");
  EXPECT_EQ(content_of("HEARTBEAT.md"), "check the mail");
  value("memory_write", R"({"content": "x", "target": "/projects//boat.md"})");
  EXPECT_EQ(content_of("projects/boat.md"), "x");
  put("BOOTSTRAP.md", "first run");
  const json::Value cleared = value("memory_write", R"({"content": "", "target": "bootstrap"})");
  EXPECT_EQ(cleared.string_or("status"), "cleared");
  EXPECT_EQ(cleared.string_or("path"), "BOOTSTRAP.md");
  EXPECT_EQ(content_of("BOOTSTRAP.md"), "");
}

TEST_F(MemoryTools, WhatIsWrittenIsSharedUnlessPrivate) {
  value("memory_write", R"({"content": "all", "target": "a.md"})");
  value("memory_write", R"({"content": "mine", "target": "b.md", "private": true})");
  scope.agent = "other";
  EXPECT_EQ(content_of("a.md"), "all");
  EXPECT_TRUE(content_of("b.md").starts_with("error"));
}

TEST_F(MemoryTools, WhoTheAgentIsOnlyThePersonWrites) {
  for (const char* target : {"SOUL.md", "soul.md", " /./Identity.MD ", "USER", "agents.md"}) {
    const std::string answer =
        call("memory_write", fmt::format(R"({{"content": "obey", "target": "{}"}})", target));
    EXPECT_TRUE(answer.contains("only the person may write it")) << target << ": " << answer;
  }
  EXPECT_TRUE(wait(workspace->list(scope, ""))->empty());
}

TEST_F(MemoryTools, RefusesEmptyContentAndBadPaths) {
  EXPECT_TRUE(call("memory_write", R"({"content": "  "})").starts_with("Error: the content is empty"));
  EXPECT_TRUE(
      call("memory_write", R"({"content": "x", "target": "../../etc/passwd"})").starts_with("Error: "));
  EXPECT_TRUE(call("memory_write", "{}").starts_with("Error: "));
  EXPECT_TRUE(call("memory_read", R"({"path": "missing.md"})").starts_with("Error: "));
  EXPECT_TRUE(call("memory_tree", R"({"path": ".."})").starts_with("Error: "));
}

TEST_F(MemoryTools, Search) {
  put("MEMORY.md", "my dentist is on Friday at 9");
  const json::Value found = value("memory_search", R"({"query": "dentist?"})");
  EXPECT_EQ(found.string_or("query"), "dentist?");
  EXPECT_EQ(found.int_or("result_count", 0), 1);
  const json::Value& first = found.find("results")->as_array()->front();
  EXPECT_EQ(first.string_or("content"), "my dentist is on Friday at 9");
  EXPECT_EQ(first.string_or("path"), "MEMORY.md");
  EXPECT_EQ(first.double_or("score", 0), 1.0);
  EXPECT_FALSE(first.string_or("document_id").empty());
  EXPECT_EQ(value("memory_search", R"({"query": "\"*:(", "limit": -5})").int_or("result_count", 9), 0);
  for (int i = 0; i < 30; ++i) put(fmt::format("n/{}", i), "pebble");
  EXPECT_EQ(value("memory_search", R"({"query": "pebble", "limit": 2})").int_or("result_count", 0), 2);
  EXPECT_TRUE(call("memory_search", R"({"query": "pebble", "limit": 500})").contains("\"n/"));
}

TEST_F(MemoryTools, Read) {
  put("notes/a.md", "one two\nthree");
  const json::Value read = value("memory_read", R"({"path": "/notes/a.md"})");
  EXPECT_EQ(
      json::write(read),
      R"({"path":"notes/a.md","content":"one two\nthree","word_count":3,"updated_at":"2026-01-01T00:00:00.000Z"})");
  put("MEMORY.md", "facts");
  EXPECT_EQ(value("memory_read", R"({"path": "memory"})").string_or("content"), "facts");
}

TEST_F(MemoryTools, Tree) {
  EXPECT_EQ(json::write(value("memory_tree", "{}")), "[]");
  for (const char* path :
       {"MEMORY.md", "daily/2026-01-01.md", "projects/boat/sails.md", "projects/list.md", "projects.md"})
    put(path, "x");
  EXPECT_EQ(json::write(value("memory_tree", "{}")), R"(["MEMORY.md","daily/","projects.md","projects/"])");
  EXPECT_EQ(json::write(value("memory_tree", R"({"depth": 2})")),
            R"(["MEMORY.md",{"daily/":["2026-01-01.md"]},"projects.md",{"projects/":["boat/","list.md"]}])");
  EXPECT_EQ(json::write(value("memory_tree", R"({"path": "projects", "depth": 99})")),
            R"([{"boat/":["sails.md"]},"list.md"])");
}

}  // namespace
}  // namespace chela::memory
