#include "memory/identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "memory/memory_fixture.h"
#include "runtime/asio_loop.h"
#include "testing/test_dir.h"

namespace chela::memory {
namespace {

class IdentityTest : public MemoryTest {
 protected:
  // Writes a file of the folder, changed at a time relative to the clock.
  void file(const std::string& name, const std::string& content, std::int64_t seconds = 0) {
    const std::string path = dir.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    const timespec time{.tv_sec = loop.clock().now() / 1000 + seconds, .tv_nsec = 0};
    const timespec times[] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  ImportReport import() { return wait(import_identity_files(*workspace, pool, scope, dir.path())); }

  testing::TestDir dir;
  runtime::Pool pool{loop, 1};
};

TEST_F(IdentityTest, SectionsInTheirOrderWithoutEmptyOnesAndWithoutWhatChangesOften) {
  put("IDENTITY.md", "I am Chela.\n");
  put("SOUL.md", " be kind ");
  put("AGENTS.md", "\n");
  put("MEMORY.md", "changes often");
  put("daily/2026-01-01.md", "changes often");
  put("BOOTSTRAP.md", "ask for the name");
  const auto sections = wait(identity_sections(*workspace, scope));
  ASSERT_TRUE(sections);
  EXPECT_EQ(*sections, (std::vector<IdentitySection>{{"First-Run Bootstrap", "ask for the name"},
                                                     {"Core Values", "be kind"},
                                                     {"Identity", "I am Chela."}}));
}

TEST_F(IdentityTest, AnAgentsOwnDocumentWins) {
  put("SOUL.md", "shared");
  put("SOUL.md", "mine", Visibility::kPrivate);
  EXPECT_EQ(wait(identity_sections(*workspace, scope))->front().text, "mine");
}

TEST_F(IdentityTest, TheCacheReadsAgainWhenADocumentChanges) {
  IdentityCache cache(*workspace);
  const auto text = [&](const Scope& of) {
    const auto sections = wait(cache.sections(of));
    return sections && !sections->empty() ? sections->front().text : "";
  };
  EXPECT_EQ(text(scope), "");
  put("SOUL.md", "be kind");
  EXPECT_EQ(text(scope), "be kind");
  // Behind the workspace's back: that nothing is read shows in the old text.
  const auto chunk = [](const std::string& content) { return std::vector<std::string>{content}; };
  Scope shared = scope;
  shared.agent.clear();
  ASSERT_TRUE(wait(database->memory().write(shared,
                                            {.id = ids.next(),
                                             .path = "SOUL.md",
                                             .content = "unseen",
                                             .mode = store::MemoryStore::WriteMode::kReplace},
                                            chunk)));
  EXPECT_EQ(text(scope), "be kind");
  put("SOUL.md", "be brave", Visibility::kPrivate);
  EXPECT_EQ(text(scope), "be brave");
  EXPECT_EQ(text(shared), "unseen");
  ASSERT_TRUE(wait(workspace->remove(scope, "SOUL.md")));
  EXPECT_EQ(text(scope), "unseen");
  // Others push it out, and it is read again.
  put("SOUL.md", "be kind");
  EXPECT_EQ(text(scope), "be kind");
  for (size_t i = 0; i < kMaxKnownPrompts; ++i)
    EXPECT_EQ(text({"default", fmt::format("user{}", i), ""}), "");
  ASSERT_TRUE(wait(database->memory().write(shared,
                                            {.id = ids.next(),
                                             .path = "SOUL.md",
                                             .content = "seen",
                                             .mode = store::MemoryStore::WriteMode::kReplace},
                                            chunk)));
  EXPECT_EQ(text(scope), "seen");
}

TEST_F(IdentityTest, NewerFilesAreImported) {
  file("SOUL.md", "from disk", 10);
  file("USER.md", "Ann", 10);
  file("NOTES.md", "not an identity file", 10);
  EXPECT_EQ(import().imported, (std::vector<std::string>{"SOUL.md", "USER.md"}));
  EXPECT_EQ(content_of("SOUL.md"), "from disk");
  EXPECT_TRUE(content_of("NOTES.md").starts_with("error"));
  EXPECT_TRUE(import().imported.empty());
  loop.advance(20s);
  put("SOUL.md", "changed here");
  EXPECT_TRUE(import().imported.empty());
  EXPECT_EQ(content_of("SOUL.md"), "changed here");
  file("SOUL.md", "changed on disk", 5);
  EXPECT_EQ(import().imported, std::vector<std::string>{"SOUL.md"});
  EXPECT_EQ(content_of("SOUL.md"), "changed on disk");
}

TEST_F(IdentityTest, WhatCannotBeImportedIsSaid) {
  namespace fs = std::filesystem;
  testing::TestDir outside;
  std::ofstream(outside.path() + "/secret") << "hidden";
  fs::create_symlink(outside.path() + "/secret", dir.path() + "/SOUL.md");
  fs::create_directory(dir.path() + "/USER.md");
  ASSERT_EQ(::mkfifo((dir.path() + "/TOOLS.md").c_str(), 0600), 0);
  file("AGENTS.md", "\xFF", 10);
  file("IDENTITY.md", std::string(kMaxIdentityBytes + 1, 'x'), 10);
  const ImportReport report = import();
  EXPECT_TRUE(report.imported.empty());
  EXPECT_EQ(report.problems.size(), 5u);
  EXPECT_TRUE(wait(identity_sections(*workspace, scope))->empty());
  EXPECT_TRUE(wait(import_identity_files(*workspace, pool, scope, "/nonexistent")).imported.empty());
}

}  // namespace
}  // namespace chela::memory
