#pragma once

#include <rapidcheck.h>

#include "base/limits.h"
#include "base/strings.h"
#include "store/conformance.h"

namespace chela::store {

class MemoryConformance : public StoreConformance {
 protected:
  MemoryStore& memory() { return stores_->memory(); }

  // One chunk per paragraph.
  static std::vector<std::string> paragraphs(const std::string& content) {
    std::vector<std::string> chunks;
    for (const std::string_view part : strings::split(content, '\n')) {
      if (!part.empty()) chunks.emplace_back(part);
    }
    return chunks;
  }
  Result<DocumentRow> write(const Scope& scope, const std::string& path, const std::string& content,
                            MemoryStore::WriteMode mode = MemoryStore::WriteMode::kReplace) {
    ++ids_;
    return run(memory().write(
        scope, {.id = "d" + std::to_string(ids_), .path = path, .content = content, .mode = mode, .at = ids_},
        &paragraphs));
  }
  std::vector<std::string> search(const Scope& scope, std::vector<std::string> terms,
                                  std::size_t limit = 10) {
    std::vector<std::string> found;
    const Result<std::vector<ChunkHit>> hits = run(memory().search_text(scope, std::move(terms), limit));
    EXPECT_TRUE(hits) << hits.error().text();
    if (hits) {
      for (const ChunkHit& hit : *hits) found.push_back(hit.content);
    }
    return found;
  }
  std::vector<std::string> paths(const Scope& scope, const std::string& prefix) {
    std::vector<std::string> found;
    for (const DocumentInfo& info : *run(memory().list(scope, prefix))) found.push_back(info.path);
    return found;
  }
  using Texts = std::vector<std::string>;

  int ids_ = 0;
  const Scope ann_shared_{.realm = "r1", .user = "ann", .agent = ""};
};

TEST_P(MemoryConformance, ADocumentIsReplacedInPlace) {
  const Result<DocumentRow> first = write(ann_, "notes/a.md", "one");
  ASSERT_TRUE(first) << first.error().text();
  ASSERT_TRUE(write(ann_, "notes/a.md", "two"));
  const Result<DocumentRow> read = run(memory().read(ann_, "notes/a.md"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->content, "two");
  EXPECT_EQ(read->id, first->id);
  EXPECT_EQ(read->created_at, 1);
  EXPECT_EQ(read->updated_at, 2);
  EXPECT_EQ(code_of(run(memory().read(ann_, "notes/b.md"))), Code::kNotFound);
  EXPECT_TRUE(search(ann_, {"one"}).empty());
  EXPECT_EQ(search(ann_, {"two"}), Texts{"two"});
  EXPECT_TRUE(*run(memory().remove(ann_, "notes/a.md")));
  EXPECT_FALSE(*run(memory().remove(ann_, "notes/a.md")));
  EXPECT_TRUE(search(ann_, {"two"}).empty());
}

TEST_P(MemoryConformance, ConcurrentAppendsLoseNothing) {
  std::vector<Task<Result<DocumentRow>>> tasks;
  for (int i = 0; i < 50; ++i) {
    tasks.push_back(memory().write(ann_,
                                   {.id = "d" + std::to_string(i),
                                    .path = "log.md",
                                    .content = "line" + std::to_string(i),
                                    .mode = MemoryStore::WriteMode::kAppend,
                                    .at = i},
                                   &paragraphs));
  }
  for (const Result<DocumentRow>& done : run_all(std::move(tasks))) ASSERT_TRUE(done);
  const Result<DocumentRow> read = run(memory().read(ann_, "log.md"));
  ASSERT_TRUE(read);
  EXPECT_EQ(strings::split(read->content, '\n').size(), 50U);
  EXPECT_EQ(search(ann_, {"line0"}), Texts{"line0"});
  EXPECT_EQ(search(ann_, {"line49"}), Texts{"line49"});
}

TEST_P(MemoryConformance, ADocumentThatWouldGrowTooLargeStaysAsItWas) {
  ASSERT_TRUE(write(ann_, "big.md", std::string(kMaxDocumentBytes, 'x')));
  EXPECT_EQ(code_of(write(ann_, "big.md", "y", MemoryStore::WriteMode::kAppend)), Code::kTooLarge);
  EXPECT_EQ(run(memory().read(ann_, "big.md"))->content.size(), kMaxDocumentBytes);
}

TEST_P(MemoryConformance, AListTakesWholePathParts) {
  for (const char* path : {"a", "a/b", "a/b/c", "a.md", "a0", "ab/c", "z"})
    ASSERT_TRUE(write(ann_, path, "x"));
  EXPECT_EQ(paths(ann_, "a"), (Texts{"a", "a/b", "a/b/c"}));
  EXPECT_EQ(paths(ann_, "a/b"), (Texts{"a/b", "a/b/c"}));
  EXPECT_EQ(paths(ann_, ""), (Texts{"a", "a.md", "a/b", "a/b/c", "a0", "ab/c", "z"}));
  EXPECT_TRUE(paths(ann_, "%").empty());
}

TEST_P(MemoryConformance, AgentsShareWhatIsSharedAndNothingElse) {
  ASSERT_TRUE(write(ann_shared_, "MEMORY.md", "shared zebra"));
  ASSERT_TRUE(write(ann_, "MEMORY.md", "own zebra"));
  EXPECT_EQ(run(memory().read(ann_, "MEMORY.md"))->content, "own zebra");
  EXPECT_EQ(run(memory().read(ann_coder_, "MEMORY.md"))->content, "shared zebra");
  EXPECT_EQ(run(memory().read(ann_shared_, "MEMORY.md"))->content, "shared zebra");
  EXPECT_EQ(search(ann_, {"zebra"}).size(), 2U);
  EXPECT_EQ(search(ann_coder_, {"zebra"}), Texts{"shared zebra"});
  const Result<std::vector<DocumentInfo>> list = run(memory().list(ann_, ""));
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ((*list)[0].agent, "default");
  EXPECT_EQ((*list)[1].agent, "");
  EXPECT_EQ((*list)[0].bytes, 9);
  EXPECT_TRUE(*run(memory().remove(ann_, "MEMORY.md")));
  EXPECT_EQ(run(memory().read(ann_, "MEMORY.md"))->content, "shared zebra");
  EXPECT_FALSE(*run(memory().remove(ann_, "MEMORY.md")));
}

TEST_P(MemoryConformance, OtherUsersSeeAndChangeNothing) {
  ASSERT_TRUE(write(ann_shared_, "a.md", "zebra"));
  for (Scope stranger : {bob_, other_ann_, Scope{.realm = "r1", .user = "bob", .agent = ""}}) {
    EXPECT_EQ(code_of(run(memory().read(stranger, "a.md"))), Code::kNotFound);
    EXPECT_TRUE(paths(stranger, "").empty());
    EXPECT_TRUE(search(stranger, {"zebra"}).empty());
    EXPECT_FALSE(*run(memory().remove(stranger, "a.md")));
    ASSERT_TRUE(write(stranger, "a.md", "theirs"));
    ASSERT_TRUE(write(stranger, "a.md", "more", MemoryStore::WriteMode::kAppend));
  }
  EXPECT_EQ(run(memory().read(ann_, "a.md"))->content, "zebra");
  EXPECT_EQ(search(ann_, {"zebra", "theirs", "more"}), Texts{"zebra"});
}

TEST_P(MemoryConformance, OthersChangeNeitherWhatIsFoundNorItsRank) {
  ASSERT_TRUE(write(ann_, "a.md", "zebra and lion\nlion alone\nlion again here"));
  const Result<std::vector<ChunkHit>> before = run(memory().search_text(ann_, {"zebra", "lion"}, 2));
  ASSERT_TRUE(before);
  ASSERT_EQ(before->size(), 2U);
  // Better matches, and more of them than the limit.
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(write(bob_, "b" + std::to_string(i), "zebra zebra zebra"));
  const Result<std::vector<ChunkHit>> after = run(memory().search_text(ann_, {"zebra", "lion"}, 2));
  ASSERT_TRUE(after);
  ASSERT_EQ(after->size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*after)[i].content, (*before)[i].content);
    EXPECT_EQ((*after)[i].rank, (*before)[i].rank);
  }
}

TEST_P(MemoryConformance, SearchRanksByRarityAndFrequency) {
  ASSERT_TRUE(
      write(ann_, "a.md", "the dentist is on friday\nthe friday market\nfriday friday friday\nmonday work"));
  EXPECT_EQ(search(ann_, {"dentist", "friday"}).front(), "the dentist is on friday");
  EXPECT_EQ(search(ann_, {"friday"}).front(), "friday friday friday");
  EXPECT_EQ(search(ann_, {"friday"}, 2).size(), 2U);
  EXPECT_EQ(search(ann_, {"dentists"}), Texts{"the dentist is on friday"});  // word stems
  EXPECT_TRUE(search(ann_, {"tuesday"}).empty());
  EXPECT_TRUE(search(ann_, {}).empty());
  EXPECT_TRUE(search(ann_, {"friday"}, 0).empty());
  const Result<std::vector<ChunkHit>> hits = run(memory().search_text(ann_, {"dentist"}, 5));
  ASSERT_EQ(hits->size(), 1U);
  EXPECT_EQ(hits->front().path, "a.md");
  EXPECT_EQ(hits->front().document_id, "d1");
  EXPECT_EQ(hits->front().chunk_index, 0);
  EXPECT_GT(hits->front().rank, 0);
}

TEST_P(MemoryConformance, AnyPunctuationIsOnlyText) {
  ASSERT_TRUE(write(ann_, "a.md", "C++ costs 5 $ (or \"more\")"));
  for (const char* term : {"\"more\"", "more\"", "(or", "owner:", "content : costs", "costs*", "^costs",
                           "NEAR(costs)", "costs - 5", "c++ OR x"}) {
    search(ann_, {term});
  }
  EXPECT_EQ(search(ann_, {"\"more\""}).size(), 1U);
  EXPECT_EQ(search(ann_, {"costs*"}).size(), 1U);
  EXPECT_TRUE(search(ann_, {"OR"}).size() == 1U);  // a word like any other
  EXPECT_TRUE(search(ann_, {"AND"}).empty());
  EXPECT_EQ(search(ann_, {"!!!", "", "\"", std::string("\0", 1), "costs"}).size(), 1U);
}

TEST_P(MemoryConformance, ManyTermsAreCutOff) {
  ASSERT_TRUE(write(ann_, "a.md", "last"));
  std::vector<std::string> terms(kMaxSearchTerms, "none");
  terms.emplace_back("last");
  EXPECT_TRUE(search(ann_, terms).empty());
  terms.front() = "last";
  EXPECT_EQ(search(ann_, terms).size(), 1U);
}

TEST_P(MemoryConformance, RandomBytesNeverBreakASearch) {
  ASSERT_TRUE(write(ann_, "a.md", "something"));
  const bool held = rc::check("any terms give an answer", [this](const std::vector<std::string>& terms) {
    RC_ASSERT(run(memory().search_text(ann_, terms, 5)).has_value());
  });
  EXPECT_TRUE(held);
}

TEST_P(MemoryConformance, WhatIsWrittenIsFoundUnderItsOwnWords) {
  const bool held = rc::check("a chunk is found by each of its words, also after rewrites", [this] {
    const auto letters = rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcxyz")));
    const auto words =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty(letters)));
    const auto kept = *rc::gen::inRange<size_t>(0, words.size());
    RC_ASSERT(write(bob_, "p.md", strings::join(words, "\n")).has_value());
    const std::vector<std::string> fewer(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(kept));
    RC_ASSERT(write(bob_, "p.md", strings::join(fewer, "\n")).has_value());
    for (const std::string& word : words) {
      const bool expected = std::ranges::find(fewer, word) != fewer.end();
      const Result<std::vector<ChunkHit>> hits = run(memory().search_text(bob_, {word}, 1000));
      RC_ASSERT(hits.has_value());
      const bool found = std::ranges::any_of(*hits, [&](const ChunkHit& hit) { return hit.content == word; });
      RC_ASSERT(found == expected);
    }
  });
  EXPECT_TRUE(held);
}

}  // namespace chela::store
