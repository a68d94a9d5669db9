#include "llm/bus/bus_provider.h"

#include "bus/bus_fixture.h"

namespace chela::llm {
namespace {

class Own final : public Provider {
 public:
  Task<Result<Answer>> complete(Request, DeltaSink, std::optional<SteadyTime>, std::stop_token) override {
    ++calls;
    co_return Answer{.text = "own", .reasoning = {}, .tool_calls = {}, .usage = {}, .model = "own"};
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"own"};
  }
  int calls = 0;
};

class BusProviderTest : public bus::BusTest {
 protected:
  // Asks, and lets `meanwhile` answer.
  Result<Answer> ask(std::function<void()> meanwhile, std::stop_token stop = {}) {
    loop.post(std::move(meanwhile));
    const DeltaSink sink = [this](const Delta& delta) { heard += delta.text; };
    return runtime::block_on(loop, provider.complete({.model = "m", .messages = {{.content = "hello"}}}, sink,
                                                     std::nullopt, std::move(stop)));
  }
  bus::BusTest::Peer& worker() {
    bus::BusTest::Peer& made = join({"bus:register", "bus:replace:llm::complete"});
    made.provide("llm::complete");
    return made;
  }

  Own own;
  BusProvider provider{own, *bus, {.realm = "default", .user = "ann", .permissions = {"*"}}};
  std::string heard;
};

TEST_F(BusProviderTest, AsksAWorkerWhileThereIsOneAndTheOwnProviderElse) {
  EXPECT_EQ(ask([] {})->text, "own");
  bus::BusTest::Peer& one = worker();
  const Result<Answer> answer = ask([&] {
    const json::Value call = one.next("invokefunction");
    EXPECT_EQ(call.find("data")->string_or("model"), "m");
    EXPECT_EQ(call.find("data")->find("messages")->as_array()->front().string_or("content"), "hello");
    one.tell(*json::parse(fmt::format(
        R"({{"type": "invocationresult", "invocation_id": "{}", "function_id": "llm::complete", "result":
           {{"content": "from afar", "usage": {{"prompt_tokens": 3, "output_tokens": 2}}}}}})",
        call.string_or("invocation_id"))));
  });
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "from afar");
  EXPECT_EQ(heard, "from afar");
  EXPECT_EQ(answer->model, "m");
  EXPECT_EQ(answer->usage.input_tokens, 3);
  EXPECT_EQ(answer->usage.output_tokens, 2);
  EXPECT_EQ(answer->finish_reason, FinishReason::kStop);
  one.leave();
  EXPECT_EQ(ask([] {})->text, "own");
}

TEST_F(BusProviderTest, AWorkerWithoutThePermissionIsNotAsked) {
  join({"bus:register", "bus:call"}).provide("llm::complete");
  EXPECT_EQ(ask([] {})->text, "own");
}

TEST_F(BusProviderTest, TheOwnProviderDoesWhatADyingWorkerLeft) {
  bus::BusTest::Peer& one = worker();
  EXPECT_EQ(ask([&] { one.leave(); })->text, "own");
}

TEST_F(BusProviderTest, ErrorsAndNonsenseOfAWorkerAreErrors) {
  bus::BusTest::Peer& one = worker();
  EXPECT_EQ(ask([&] { one.serve(json::Value("text")); }).error().code, Code::kUpstream);
  EXPECT_EQ(ask([&] { one.serve(json::Value::object()); }).error().code, Code::kUpstream);
  const Result<Answer> failed = ask([&] {
    one.tell(json::Value::object(
        {{"type", "invocationresult"},
         {"invocation_id", one.next("invokefunction").string_or("invocation_id")},
         {"function_id", "llm::complete"},
         {"error", json::Value::object({{"code", "rate_limited"}, {"message", "too much"}})}}));
  });
  EXPECT_EQ(failed.error().code, Code::kRateLimited);
  EXPECT_EQ(own.calls, 0);
}

// Counts who is asked, as a budget does.
class Counting final : public Provider {
 public:
  Counting(Provider& inner, int& calls) : inner_(inner), calls_(calls) {}
  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override {
    ++calls_;
    return inner_.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override {
    return inner_.models(std::move(stop));
  }

 private:
  Provider& inner_;
  int& calls_;
};

TEST_F(BusProviderTest, CallsOfAWorkerAreCounted) {
  int counted = 0;
  BusProvider front(own, *bus, {.realm = "default", .user = "ann", .permissions = {"*"}},
                    [&](Provider& inner) { return std::make_unique<Counting>(inner, counted); });
  const auto ask_it = [&] {
    return runtime::block_on(loop, front.complete({.model = "m"}, {}, std::nullopt, {}));
  };
  EXPECT_EQ(ask_it()->text, "own");
  EXPECT_EQ(counted, 0) << "the own provider is counted behind it";
  bus::BusTest::Peer& one = worker();
  loop.post([&] { one.serve(*json::parse(R"({"content": "from afar"})")); });
  EXPECT_EQ(ask_it()->text, "from afar");
  EXPECT_EQ(counted, 1);
}

TEST_F(BusProviderTest, StopEndsTheCall) {
  worker();
  std::stop_source stop;
  EXPECT_EQ(ask([&] { stop.request_stop(); }, stop.get_token()).error().code, Code::kCancelled);
}

TEST(AnswerFromJson, ReadsToolCallsOfBothForms) {
  const Result<Answer> openai = answer_from_json(*json::parse(
      R"({"content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]})"));
  const Result<Answer> agentos = answer_from_json(
      *json::parse(R"({"content": "", "toolCalls": [{"callId": "c1", "id": "f", "arguments": {"a": 1}}]})"));
  for (const Result<Answer>* each : {&openai, &agentos}) {
    ASSERT_TRUE(*each) << each->error().text();
    ASSERT_EQ((*each)->tool_calls.size(), 1u);
    EXPECT_EQ((*each)->tool_calls[0].id, "c1");
    EXPECT_EQ((*each)->tool_calls[0].name, "f");
    EXPECT_EQ((*each)->tool_calls[0].arguments, R"({"a":1})");
    EXPECT_EQ((*each)->finish_reason, FinishReason::kToolCalls);
  }
}

}  // namespace
}  // namespace chela::llm
