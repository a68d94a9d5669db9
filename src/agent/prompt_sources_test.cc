#include "agent/prompt_sources.h"

#include <gtest/gtest.h>

#include "agent/engine_test_fixture.h"
#include "crypto/hash.h"

namespace chela::agent {
namespace {

// Counts what is stored.
class CountingBlobs final : public store::BlobStore {
 public:
  explicit CountingBlobs(store::BlobStore& inner) : inner_(inner) {}
  Task<Result<>> put(Scope scope, std::string hash, std::string content) override {
    ++puts;
    return inner_.put(std::move(scope), std::move(hash), std::move(content));
  }
  Task<Result<std::string>> get(Scope scope, std::string hash) override {
    return inner_.get(std::move(scope), std::move(hash));
  }
  int puts = 0;

 private:
  store::BlobStore& inner_;
};

class PromptSourcesTest : public EngineTest {
 protected:
  Result<turn::Sources> of(PromptSources& prompts, const Scope& scope,
                           std::vector<llm::ToolSpec> client_tools = {}) {
    return run(prompts.of(scope, {.name = "default"}, {{"Identity", "a crab"}}, "", std::move(client_tools),
                          llm::ToolCalling::kNative));
  }
  llm::ToolSpec client_tool(std::string name) {
    return {std::move(name), "of the client", json::Value::object({{"type", "object"}})};
  }
  CountingBlobs blobs_{parts_.database().blobs()};
};

TEST_F(PromptSourcesTest, AreMadeAndStoredOnce) {
  PromptSources prompts(parts_.tools, blobs_);
  const Result<turn::Sources> first = of(prompts, kScope);
  const Result<turn::Sources> again = of(prompts, kScope);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->tools, again->tools);  // the same object
  EXPECT_EQ(first->system, again->system);
  EXPECT_EQ(blobs_.puts, 2);
  int runs = 0;
  add_tool("added", tools::Approval::kNever, &runs);
  const Result<turn::Sources> more = of(prompts, kScope);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->tools->specs.size(), first->tools->specs.size() + 1);
  EXPECT_NE(more->tools->hash, first->tools->hash);
  EXPECT_EQ(blobs_.puts, 3);
}

// A tool that only one user has.
class OneUsersTool final : public tools::ToolSource {
 public:
  OneUsersTool(std::string user, tools::ToolPtr tool) : user_(std::move(user)), tools_{std::move(tool)} {}
  const std::vector<tools::ToolPtr>& tools(const Scope& scope) override {
    return there && scope.user == user_ ? tools_ : none_;
  }
  std::uint64_t revision() const override { return there ? 1 : 0; }
  bool there = true;

 private:
  const std::string user_;
  std::vector<tools::ToolPtr> tools_;
  std::vector<tools::ToolPtr> none_;
};

TEST_F(PromptSourcesTest, ToolsOfAUserAreThatUsersAlone) {
  int runs = 0;
  OneUsersTool source(kScope.user, std::make_shared<FakeTool>(loop_, "own", tools::Approval::kNever, &runs));
  parts_.tools.add_source(source, "bus");
  PromptSources prompts(parts_.tools, blobs_);
  Scope other = kScope;
  other.user = "somebody";
  const Result<turn::Sources> with = of(prompts, kScope);
  const Result<turn::Sources> without = of(prompts, other);
  ASSERT_TRUE(with && without);
  EXPECT_EQ(with->tools->specs.size(), without->tools->specs.size() + 1);
  EXPECT_EQ(of(prompts, kScope)->tools, with->tools) << "the same object while nothing changes";
  source.there = false;
  EXPECT_EQ(of(prompts, kScope)->tools->hash, without->tools->hash);
  EXPECT_EQ(prompts.run_by_client(kScope, {client_tool("own")}), std::set<std::string>{"own"});
}

TEST_F(PromptSourcesTest, ComeBackAsTheyWere) {
  PromptSources prompts(parts_.tools, blobs_);
  const Result<turn::Sources> made = of(prompts, kScope, {client_tool("weather")});
  ASSERT_TRUE(made);
  const Result<turn::Sources> stored =
      run(PromptSources(parts_.tools, blobs_).stored(kScope, made->system_hash, made->tools->hash));
  ASSERT_TRUE(stored) << stored.error().text();
  EXPECT_EQ(stored->system, made->system);
  EXPECT_EQ(stored->tools->specs, made->tools->specs);
  EXPECT_EQ(stored->tools->hash, made->tools->hash);
  EXPECT_EQ(run(prompts.stored(kScope, "unknown", made->tools->hash)).error().code, Code::kNotFound);
}

TEST_F(PromptSourcesTest, OwnToolsWinOverTheClients) {
  PromptSources prompts(parts_.tools, blobs_);
  const std::vector<llm::ToolSpec> theirs{client_tool("free"), client_tool("weather")};
  EXPECT_EQ(prompts.run_by_client(kScope, theirs), std::set<std::string>{"weather"});
  const Result<turn::Sources> sources = of(prompts, kScope, theirs);
  ASSERT_TRUE(sources);
  std::vector<std::string> names;
  for (const llm::ToolSpec& each : sources->tools->specs) names.push_back(each.name + each.description);
  EXPECT_EQ(names, (std::vector<std::string>{"asks", "free", "weatherof the client"}));
}

TEST_F(PromptSourcesTest, RememberSoManyStoredBlobs) {
  PromptSources prompts(parts_.tools, blobs_, 4);
  const auto puts_for = [&](const char* user) {
    blobs_.puts = 0;
    EXPECT_TRUE(of(prompts, {"default", user, "default"}));
    return blobs_.puts;
  };
  EXPECT_EQ(puts_for("u1"), 2);
  EXPECT_EQ(puts_for("u2"), 2);
  EXPECT_EQ(puts_for("u1"), 0);
  EXPECT_EQ(puts_for("u3"), 2);  // no place: the others are forgotten
  EXPECT_EQ(puts_for("u1"), 2);
}

TEST_F(PromptSourcesTest, RememberAsManyAsTheLimitSays) {
  PromptSources prompts(parts_.tools, blobs_);
  const auto put = [&](size_t number) {
    const std::string content = std::to_string(number);
    ASSERT_TRUE(run(prompts.put(kScope, crypto::sha256_hex(content), content)));
  };
  for (size_t i = 0; i < kMaxKnownBlobs; ++i) put(i);
  put(0);
  EXPECT_EQ(blobs_.puts, static_cast<int>(kMaxKnownBlobs));
  put(kMaxKnownBlobs);
  put(0);  // no place: the others are forgotten
  EXPECT_EQ(blobs_.puts, static_cast<int>(kMaxKnownBlobs) + 2);
}

}  // namespace
}  // namespace chela::agent
