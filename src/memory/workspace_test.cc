#include "memory/workspace.h"

#include <rapidcheck.h>

#include "memory/fusion.h"
#include "memory/memory_fixture.h"
#include "memory/words.h"

namespace chela::memory {
namespace {

using WorkspaceTest = MemoryTest;

std::vector<std::string> paths_of(const Result<std::vector<SearchResult>>& results) {
  std::vector<std::string> paths;
  if (results) {
    for (const SearchResult& each : *results) paths.push_back(each.path);
  }
  return paths;
}

TEST_F(WorkspaceTest, WritesReadsAppendsRemoves) {
  put("/notes//a.md", "one");
  EXPECT_EQ(content_of("notes/a.md"), "one");
  ASSERT_TRUE(wait(workspace->append(scope, "notes/a.md", "two")));
  EXPECT_EQ(content_of("notes/a.md"), "one\ntwo");
  put("notes/a.md", "three");
  EXPECT_EQ(content_of("notes/a.md"), "three");
  EXPECT_TRUE(*wait(workspace->remove(scope, "notes/a.md")));
  EXPECT_FALSE(*wait(workspace->remove(scope, "notes/a.md")));
  EXPECT_EQ(wait(workspace->read(scope, "notes/a.md")).error().code, Code::kNotFound);
}

TEST_F(WorkspaceTest, LongTermMemoryGetsAnEmptyLineBetweenEntries) {
  ASSERT_TRUE(wait(workspace->append(scope, "MEMORY.md", "first")));
  ASSERT_TRUE(wait(workspace->append(scope, "MEMORY.md", "second")));
  EXPECT_EQ(content_of("MEMORY.md"), "first\n\nsecond");
}

TEST_F(WorkspaceTest, RefusesBadPathsAndContents) {
  EXPECT_EQ(wait(workspace->read(scope, "../x")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(wait(workspace->write(scope, "", "x")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(wait(workspace->write(scope, "a", "\xFF")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(wait(workspace->write(scope, "a", std::string(kMaxDocumentBytes + 1, 'x'))).error().code,
            Code::kTooLarge);
  put("full", std::string(kMaxDocumentBytes, 'x'));
  EXPECT_EQ(wait(workspace->append(scope, "full", "y")).error().code, Code::kTooLarge);
}

TEST_F(WorkspaceTest, PrivateDocumentsAreForOneAgentAndComeFirst) {
  put("a.md", "shared");
  put("a.md", "mine", Visibility::kPrivate);
  put("b.md", "secret", Visibility::kPrivate);
  EXPECT_EQ(content_of("a.md"), "mine");
  EXPECT_EQ(wait(workspace->list(scope, ""))->size(), 2u);
  scope.agent = "other";
  EXPECT_EQ(content_of("a.md"), "shared");
  EXPECT_TRUE(content_of("b.md").starts_with("error: not_found"));
  EXPECT_TRUE(paths_of(wait(workspace->search(scope, "secret", 5))).empty());
  scope.agent = "default";
  EXPECT_TRUE(*wait(workspace->remove(scope, "a.md")));
  EXPECT_EQ(content_of("a.md"), "shared");
}

TEST_F(WorkspaceTest, UsersAndRealmsNeverMeet) {
  put("a.md", "the dentist is on Friday");
  for (const Scope& other : {Scope{.realm = "default", .user = "bob", .agent = "default"},
                             Scope{.realm = "acme", .user = "ann", .agent = "default"}}) {
    EXPECT_FALSE(wait(workspace->read(other, "a.md")));
    EXPECT_TRUE(wait(workspace->list(other, ""))->empty());
    EXPECT_TRUE(paths_of(wait(workspace->search(other, "dentist", 5))).empty());
    EXPECT_FALSE(*wait(workspace->remove(other, "a.md")));
  }
  EXPECT_EQ(content_of("a.md"), "the dentist is on Friday");
}

TEST_F(WorkspaceTest, ChildrenAreImmediate) {
  put("MEMORY.md", "x");
  put("daily/2026-01-01.md", "x");
  loop.advance(5s);
  put("daily/2026-01-02.md", "x");
  put("daily", "a document of the folder's name");
  put("dailyx/y.md", "x");
  const auto root = wait(workspace->children(scope, ""));
  ASSERT_TRUE(root);
  std::vector<std::string> names;
  for (const Entry& entry : *root) names.push_back(entry.name + (entry.is_directory ? "/" : ""));
  EXPECT_EQ(names, (std::vector<std::string>{"MEMORY.md", "daily", "daily/", "dailyx/"}));
  EXPECT_EQ((*root)[2].updated_at, loop.clock().now());
  const auto daily = wait(workspace->children(scope, "/daily/"));
  ASSERT_EQ(daily->size(), 2u);
  EXPECT_EQ((*daily)[0].path, "daily/2026-01-01.md");
}

TEST_F(WorkspaceTest, SearchRanksAndNormalisesScores) {
  put("dentist.md", "my dentist is on Friday at 9; the dentist is called Lee");
  put("trip.md", "a trip to the sea on Friday");
  put("other.md", "nothing of the kind");
  const auto results = wait(workspace->search(scope, "when is the dentist on Friday?", 5));
  ASSERT_TRUE(results) << results.error().text();
  ASSERT_GE(results->size(), 2u);
  EXPECT_EQ(results->front().path, "dentist.md");
  EXPECT_EQ(results->front().score, 1.0);
  EXPECT_LT((*results)[1].score, 1.0);
  EXPECT_FALSE(results->front().document_id.empty());
  EXPECT_EQ(wait(workspace->search(scope, "Friday", 1))->size(), 1u);
  EXPECT_TRUE(wait(workspace->search(scope, "Friday", 0))->empty());
  EXPECT_TRUE(wait(workspace->search(scope, "?!", 5))->empty());
}

TEST_F(WorkspaceTest, SearchFindsWhatFollowsAnAppendAndForgetsWhatWasReplaced) {
  put("a.md", "apples");
  ASSERT_TRUE(wait(workspace->append(scope, "a.md", "bananas")));
  EXPECT_EQ(paths_of(wait(workspace->search(scope, "banana", 5))), std::vector<std::string>{"a.md"});
  put("a.md", "cherries");
  EXPECT_TRUE(paths_of(wait(workspace->search(scope, "apples", 5))).empty());
}

TEST_F(WorkspaceTest, AnyPunctuationIsASafeQuery) {
  put("a.md", "plain words about AND OR NOT NEAR and \"quotes\"");
  for (const char* query :
       {"\"", "'", "a*", "col:x", "AND", "NOT x", "NEAR(a b)", "(", ")", "^a", "-x", "a AND", "{a}", ";--",
        "\\", "+", "dentist\xE2\x80\x99s", "\xFF\xFE", "a\"b OR c:"}) {
    EXPECT_TRUE(wait(workspace->search(scope, query, 5))) << query;
  }
  rc::check([this] {
    const auto noise = *rc::gen::container<std::string>(rc::gen::element(
        '"', '\'', '*', ':', '(', ')', '^', '-', '+', '{', '}', 'a', ' ', '\\', '\0', '\xC3', 'N', 'O', 'T'));
    RC_ASSERT(wait(workspace->search(scope, noise, 5)).has_value());
  });
}

TEST_F(WorkspaceTest, QueriesAreCutToTheirLimits) {
  put("a.md", "needle");
  std::string many;
  for (std::size_t i = 0; i < 3 * kMaxTerms; ++i) many += fmt::format("word{} ", i);
  EXPECT_EQ(terms_of(many).size(), kMaxTerms);
  EXPECT_TRUE(wait(workspace->search(scope, many + "needle", 5)));
  EXPECT_EQ(paths_of(wait(workspace->search(scope, "needle " + std::string(2 * kMaxQueryBytes, 'x'), 5))),
            std::vector<std::string>{"a.md"});
  for (int i = 0; i < 30; ++i) put(fmt::format("many/{}", i), "needle");
  EXPECT_EQ(wait(workspace->search(scope, "needle", 1000))->size(), kMaxSearchResults);
}

TEST(Fusion, AddsReciprocalRanksAndNormalises) {
  const auto hit = [](std::string id) {
    return store::ChunkHit{.document_id = id, .path = id, .content = id};
  };
  const std::vector<SearchResult> fused = fuse({{hit("a"), hit("b"), hit("c")}, {hit("b"), hit("d")}}, 3);
  ASSERT_EQ(fused.size(), 3u);
  EXPECT_EQ(fused[0].path, "b");
  EXPECT_EQ(fused[0].score, 1.0);
  EXPECT_EQ(fused[1].path, "a");
  EXPECT_NEAR(fused[1].score, (1.0 / 61) / (1.0 / 62 + 1.0 / 61), 1e-12);
  EXPECT_EQ(fused[2].path, "d");
  EXPECT_TRUE(fuse({}, 5).empty());
}

}  // namespace
}  // namespace chela::memory
