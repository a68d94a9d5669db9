#pragma once

#include <deque>
#include <string>
#include <vector>

#include "llm/provider.h"
#include "runtime/event_loop.h"
#include "runtime/sleep.h"

namespace chela::testing {

// What a played provider does with one call: passes the deltas on, takes its time, then fails or answers with what it has passed on.
struct Play {
  std::vector<llm::Delta> deltas = {};
  std::optional<Error> error = {};
  std::chrono::milliseconds takes{};
  llm::Answer answer = {};  // its text and reasoning, where empty, are those of the deltas
};

// A provider in memory that does, call by call, what a test says, and then always what it says last.
class PlayedProvider final : public llm::Provider {
 public:
  explicit PlayedProvider(runtime::EventLoop& loop, std::deque<Play> plays = {})
      : plays(std::move(plays)), loop_(loop) {}

  Task<Result<llm::Answer>> complete(llm::Request request, llm::DeltaSink sink, std::optional<SteadyTime>,
                                     std::stop_token stop) override {
    requests.push_back(std::move(request));
    called_at.push_back(loop_.clock().steady());
    Play play = plays.empty() ? Play{.answer = {.text = "fine"}} : plays.front();
    if (plays.size() > 1) plays.pop_front();
    for (const llm::Delta& each : play.deltas) {
      if (sink) sink(each);
    }
    if (play.takes.count() > 0) {
      const Result<> slept = co_await runtime::sleep_for(loop_, play.takes, stop);
      if (!slept) co_return fail(Code::kCancelled, "the model call was cancelled");
    }
    if (play.error) {
      if (!play.deltas.empty()) play.error->with("streamed", "1");
      co_return fail(std::move(*play.error));
    }
    const bool has_text = !play.answer.text.empty();
    const bool has_thoughts = !play.answer.reasoning.empty();
    for (const llm::Delta& each : play.deltas) {
      if (!has_text) play.answer.text += each.text;
      if (!has_thoughts) play.answer.reasoning += each.reasoning;
    }
    co_return std::move(play.answer);
  }
  Task<Result<std::vector<std::string>>> models(std::stop_token) override {
    co_return std::vector<std::string>{"m"};
  }

  std::deque<Play> plays;
  std::vector<llm::Request> requests;
  std::vector<SteadyTime> called_at;

 private:
  runtime::EventLoop& loop_;
};

}  // namespace chela::testing
