#pragma once

#include <gtest/gtest.h>

#include "api/operations.h"
#include "runtime/task_group.h"
#include "testing/fake_engine.h"
#include "testing/manual_loop.h"

namespace chela::api {

inline json::Value parsed(std::string_view text) { return *json::parse(text); }

// A model that answers what a test says and keeps what it was asked.
class FakeProvider final : public llm::Provider {
 public:
  Result<llm::Answer> answer =
      llm::Answer{.text = "Hello", .finish_reason = llm::FinishReason::kStop, .model = "m-1"};
  std::vector<std::string> pieces;  // passed on before the answer
  std::optional<size_t>
      reset_before;  // of them: the one with which the answer begins anew, unless the call is stopped
  std::vector<llm::Request> asked;

  Task<Result<llm::Answer>> complete(llm::Request request, llm::DeltaSink sink, std::optional<SteadyTime>,
                                     std::stop_token stop) override {
    asked.push_back(std::move(request));
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (reset_before == i) sink({.reset = true});
      if (stop.stop_requested()) co_return fail(Code::kUpstream, "the answer was cut");
      sink({.text = pieces[i], .reasoning = {}});
    }
    co_return answer;
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"m-1", "m-2"};
  }
};

class CollectingSink final : public op::EventSink {
 public:
  std::vector<op::Event> events;
  bool opened = false;
  Result<> open() override {
    opened = true;
    return {};
  }
  Result<> emit(op::Event event) override {
    opened = true;
    events.push_back(std::move(event));
    return {};
  }
  Task<Result<>> drained() override { co_return Result<>{}; }

  // The chunks of a /v1 stream, without [DONE].
  std::vector<json::Value> chunks() const {
    std::vector<json::Value> out;
    for (const op::Event& each : events) {
      if (each.data != "[DONE]") out.push_back(parsed(each.data));
    }
    return out;
  }
  // The text that a client of /v1 puts together.
  std::string text() const {
    std::string out;
    for (const json::Value& chunk : chunks()) {
      for (const json::Value& choice : *chunk.find("choices")->as_array())
        out += choice.find("delta")->string_or("content");
    }
    return out;
  }
};

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() {
    services_.loop = &loop_;
    services_.ids = &ids_;
    services_.engine = &engine_;
    services_.provider_for = [this](std::string_view) -> llm::Provider& { return provider_; };
    services_.models = [] { return ModelSettings{.backend = "openai", .model = "m-1"}; };
    services_.price = [](std::string_view model) {
      return model == "m-1" ? std::optional(llm::Price{.input = 10, .output = 100, .cached_input = 1})
                            : std::nullopt;
    };
    services_.status = [] { return Status{.version = "1.2.3", .pid = 7, .started_at = 1000}; };
    services_.ready = [this] { return ready_; };
    EXPECT_TRUE(add_operations(registry_, services_));
  }

  op::CallContext context(std::map<std::string, std::string, std::less<>> headers = {}) {
    op::Principal principal{.realm = "default", .user = "u", .permissions = {"*"}};
    const Scope scope = principal.scope();
    reply_headers_ = std::make_shared<std::map<std::string, std::string, std::less<>>>();
    return {.principal = std::move(principal),
            .scope = scope,
            .stop = stop_.get_token(),
            .headers = std::move(headers),
            .reply_headers = reply_headers_};
  }

  // Calls an operation as a surface does.
  Result<json::Value> call(std::string_view id, std::string_view args,
                           std::map<std::string, std::string, std::less<>> headers = {}) {
    const auto operation = registry_.find(id);
    op::CallContext c = context(std::move(headers));
    Result<json::Value> prepared = op::prepare(*operation, c.principal, parsed(args));
    if (!prepared) return prepared;
    if (const auto* value = std::get_if<op::ValueHandler>(&operation->handler)) {
      return runtime::block_on(loop_, (*value)(std::move(c), std::move(*prepared)));
    }
    const auto& events = std::get<op::EventsHandler>(operation->handler);
    return runtime::block_on(loop_, events(std::move(c), std::move(*prepared), sink_));
  }

  testing::ManualLoop loop_;
  testing::CountingIds ids_;
  testing::FakeEngine engine_{loop_};
  FakeProvider provider_;
  Services services_;
  op::Registry registry_;
  CollectingSink sink_;
  std::stop_source stop_;
  std::shared_ptr<std::map<std::string, std::string, std::less<>>> reply_headers_;
  bool ready_ = true;
};

}  // namespace chela::api
