#include "cli/suggestions.h"

#include <gtest/gtest.h>

#include "api/operations.h"
#include "cli/local_client.h"
#include "cli/thread_list.h"
#include "testing/fake_engine.h"
#include "testing/manual_loop.h"

namespace chela::cli {
namespace {

class SuggestionsTest : public ::testing::Test {
 protected:
  SuggestionsTest() {
    services_.loop = &loop_;
    services_.engine = &engine_;
    EXPECT_TRUE(api::add_operations(registry_, services_));
  }
  ~SuggestionsTest() override {
    runtime::block_on(loop_, suggestions_.close());
    runtime::block_on(loop_, client_.close());
  }
  // Asked twice: the first time makes it load.
  std::vector<std::string> of(std::string_view line) {
    suggestions_.of(line);
    loop_.run_ready();
    std::vector<std::string> lines;
    for (const tui::Candidate& each : suggestions_.of(line)) lines.push_back(each.line);
    return lines;
  }

  testing::ManualLoop loop_;
  testing::FakeEngine engine_{loop_};
  api::Services services_;
  op::Registry registry_;
  LocalClient client_{loop_, registry_, op::Principal{.realm = "default", .user = "u", .permissions = {"*"}}};
  int changes_ = 0;
  Suggestions suggestions_{loop_, client_, [this] { ++changes_; }};
};

using Lines = std::vector<std::string>;

TEST_F(SuggestionsTest, CommandsAreTheEngines) {
  EXPECT_EQ(of("/und"), (Lines{"/undo"}));
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(of("/thr"), (Lines{"/thread "})) << "an id may follow";
  EXPECT_EQ(of("hello"), Lines{});
}

TEST_F(SuggestionsTest, ThreadsAreAskedForAnewEachTime) {
  engine_.known_threads = {"one"};
  EXPECT_EQ(of("/thread "), (Lines{"/thread one", "/thread assistant"}));  // the pinned one among them
  engine_.known_threads = {"one", "two"};
  EXPECT_EQ(of("/thread o"), (Lines{"/thread one"}));
  of("/");
  EXPECT_EQ(of("/thread t"), (Lines{"/thread two"}));
}

TEST(ThreadList, ThePinnedOneIsAmongThem) {
  const json::Value listed = *json::parse(
      R"({"threads": [{"id": "a", "updated_at": "2026-01-02"}, {"id": "b", "updated_at": "2026-01-01"}],
          "assistant_thread": {"id": "p", "updated_at": "2026-01-03"}})");
  std::string ids;
  for (const json::Value& each : threads_of(listed)) ids += each.string_or("id");
  EXPECT_EQ(ids, "pab");
  EXPECT_TRUE(threads_of(json::Value::object()).empty());
}

}  // namespace
}  // namespace chela::cli
