#include "memory/bus/bus_embedder.h"

#include "bus/bus_fixture.h"

namespace chela::memory {
namespace {

class BusEmbedderTest : public bus::BusTest {
 protected:
  using Vectors = Result<std::vector<Embedding>>;

  // Asks for two vectors, and lets `meanwhile` answer.
  Vectors ask(std::function<void()> meanwhile) {
    loop.post(std::move(meanwhile));
    return runtime::block_on(loop, embedder.embed(scope, {"one", "two"}));
  }
  Peer& worker() {
    Peer& made = join({"bus:register", "bus:replace:embedding::generate"});
    made.provide("embedding::generate");
    return made;
  }
  static json::Value two() { return *json::parse(R"({"embeddings": [[1, 0.5], [0, -2]], "dim": 2})"); }

  Scope scope{.realm = "default", .user = "ann", .agent = "default"};
  BusEmbedder embedder{*bus};
};

TEST_F(BusEmbedderTest, AsksAWorkerWhileThereIsOne) {
  EXPECT_FALSE(embedder.ready(scope));
  EXPECT_FALSE(ask([] {}));
  Peer& one = worker();
  EXPECT_TRUE(embedder.ready(scope));
  EXPECT_FALSE(embedder.ready({.realm = "default", .user = "bob", .agent = "default"}));
  const Vectors said = ask([&] {
    const json::Value call = one.next("invokefunction");
    EXPECT_EQ(json::write(*call.find("data")->find("batch")), R"(["one","two"])");
    one.tell(json::Value::object({{"type", "invocationresult"},
                                  {"invocation_id", call.string_or("invocation_id")},
                                  {"function_id", "embedding::generate"},
                                  {"result", two()}}));
  });
  ASSERT_TRUE(said) << said.error().text();
  EXPECT_EQ(*said, (std::vector<Embedding>{{1, 0.5}, {0, -2}}));
  one.leave();
  EXPECT_FALSE(embedder.ready(scope));
}

TEST_F(BusEmbedderTest, AWorkerWithoutThePermissionIsNotAsked) {
  join({"bus:register", "bus:call"}).provide("embedding::generate");
  EXPECT_FALSE(embedder.ready(scope));
}

TEST_F(BusEmbedderTest, TheNextWorkerIsAskedWhenOneDiesOverIt) {
  Peer& one = worker();
  Peer* second = nullptr;
  const Vectors said = ask([&] {
    second = &worker();
    one.leave();
    loop.post([&] { second->serve(two()); });
  });
  EXPECT_TRUE(said) << said.error().text();
}

TEST_F(BusEmbedderTest, NotForEver) {
  std::vector<Peer*> all;
  for (int i = 0; i <= kEmbedAttempts; ++i) all.push_back(&worker());
  int died = 0;
  std::function<void()> kill = [&] {
    for (Peer* each : all) {
      if (each->link.closed || each->next("invokefunction").is_null()) continue;
      each->link.closed = true;
      ++died;
      loop.post(kill);
      return each->leave();
    }
  };
  EXPECT_EQ(ask(kill).error().detail("bus_code"), "invocation_stopped");
  EXPECT_EQ(died, kEmbedAttempts);
}

TEST_F(BusEmbedderTest, WhatAWorkerFailsWithIsTheError) {
  Peer& one = worker();
  const Vectors said = ask([&] {
    one.tell(json::Value::object(
        {{"type", "invocationresult"},
         {"invocation_id", one.next("invokefunction").string_or("invocation_id")},
         {"function_id", "embedding::generate"},
         {"error", json::Value::object({{"code", "invocation_failed"}, {"message", "no model"}})}}));
  });
  EXPECT_NE(said.error().message.find("no model"), std::string::npos);
  EXPECT_EQ(ask([&] { one.serve(json::Value("text")); }).error().code, Code::kUpstream);
}

TEST(EmbeddingsFromJson, TakesNothingButVectorsOfOneLength) {
  const auto good = [](std::string_view text, std::size_t count) {
    return embeddings_from_json(*json::parse(text), count).has_value();
  };
  EXPECT_TRUE(good(R"({"embeddings": [[1, 2], [3, 4]]})", 2));
  EXPECT_FALSE(good(R"({"embeddings": [[1, 2]]})", 2));
  EXPECT_FALSE(good(R"({"embeddings": [[1, 2], [3]]})", 2));
  EXPECT_FALSE(good(R"({"embeddings": [[]]})", 1));
  EXPECT_FALSE(good(R"({"embeddings": [[0, 0]]})", 1));
  EXPECT_FALSE(good(R"({"embeddings": [["a"]]})", 1));
  EXPECT_FALSE(good(R"({"embedding": [1]})", 1));
  json::Value row = json::Value::array();
  for (std::size_t i = 0; i < kMaxDimensions; ++i) row.push_back(1);
  const auto one_row = [&row] { return json::Value::object({{"embeddings", json::Value::array({row})}}); };
  EXPECT_TRUE(embeddings_from_json(one_row(), 1));
  row.push_back(1);
  EXPECT_FALSE(embeddings_from_json(one_row(), 1));
}

}  // namespace
}  // namespace chela::memory
