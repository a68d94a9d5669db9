#include "agent/engine_test_fixture.h"
#include "base/strings.h"

namespace chela::agent {
namespace {

std::vector<std::string> types(std::vector<Event> events) {
  std::vector<std::string> out;
  for (const Event& event : events) out.push_back(event.type);
  return out;
}

class EventsTest : public EngineTest {
 protected:
  // Reads until turn_finished.
  std::vector<Event> read(Subscription& subscription, std::string until = "turn_finished") {
    std::vector<Event> events;
    while (true) {
      std::optional<Event> event = run(subscription.next({}));
      if (!event) return events;
      events.push_back(*event);
      if (event->type == until) return events;
    }
  }
};

TEST_F(EventsTest, AStreamHasTheTurnsEventsInOrder) {
  provider_.call({{"a", "free", "{}"}});
  provider_.say("done");
  auto subscription = run(engine().subscribe(kScope, "", ""));
  ASSERT_TRUE(subscription);
  outcome(*send("go"));
  EXPECT_EQ(types(read(**subscription)),
            (std::vector<std::string>{"turn_started", "thinking", "usage", "tool_started", "tool_completed",
                                      "tool_result", "stream_chunk", "usage", "response", "turn_finished"}));
}

TEST_F(EventsTest, ADeclinedCallIsCalledThatAndNotWhatTheModelIsTold) {
  provider_.call({{"a", "asks", "{}"}});
  provider_.say("understood");
  auto subscription = run(engine().subscribe(kScope, "", ""));
  const auto accepted = send("go");
  const std::string request = outcome(*accepted).approval->request_id;
  ASSERT_TRUE(run(engine().decide(kScope, request, Decision::kDeny, {"*"})));
  std::string error;
  for (const Event& each : read(**subscription)) {
    if (each.type == "tool_completed") error = each.data.string_or("error");
  }
  EXPECT_EQ(error, "declined");
}

TEST_F(EventsTest, ResumingGivesWhatWasMissedAndNothingTwice) {
  provider_.call({{"a", "free", "{}"}});
  provider_.say("done");
  auto first = run(engine().subscribe(kScope, "", ""));
  const auto accepted = send("go");
  outcome(*accepted);
  const std::vector<Event> all = read(**first);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].id.empty()) continue;
    auto again = run(engine().subscribe(kScope, "", all[i].id));
    std::vector<std::string> want;
    // Deltas of a finished call are gone; a client that held one gets the whole answer instead.
    const bool in_delta = !all[i].id.ends_with(".0");
    if (in_delta) want.push_back("stream_reset");
    for (size_t k = i + 1; k < all.size(); ++k) {
      if (all[k].type != "stream_chunk") want.push_back(all[k].type);
    }
    if (want.empty()) continue;
    EXPECT_EQ(types(read(**again)), want) << all[i].id;
  }
}

TEST_F(EventsTest, ReconnectingInMidStreamLosesAndDoublesNothing) {
  provider_.add({llm::Answer{.text = "xyz"}, {"x", "y", "z"}, true});
  auto first = run(engine().subscribe(kScope, "", ""));
  const auto accepted = send("go");
  std::vector<Event> seen;
  while (seen.empty() || seen.back().data.string_or("content") != "y")
    seen.push_back(*run((*first)->next({})));
  auto again = run(engine().subscribe(kScope, "", seen.back().id));
  std::optional<Event> next = run((*again)->next({}));
  while (next && next->type != "stream_chunk") next = run((*again)->next({}));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->data.string_or("content"), "z");
  auto by_thread = run(engine().subscribe(kScope, accepted->thread_id, "garbage"));
  next = run((*by_thread)->next({}));
  EXPECT_EQ(next->type, "stream_reset");
  EXPECT_EQ(next->data.string_or("text"), "xyz");
  ASSERT_TRUE(run(engine().interrupt(kScope, accepted->thread_id)));
}

TEST_F(EventsTest, AnAnswerThatBeginsAnewAtAnotherProviderIsOneAnswer) {
  provider_.add({.answer = llm::Answer{.text = "Good day", .finish_reason = llm::FinishReason::kStop},
                 .deltas = {"Hel", "lo <tool_call>{", "Good ", "day"},
                 .reset_before = 2});
  auto subscription = run(engine().subscribe(kScope, "", ""));
  const auto accepted = send("go");
  EXPECT_EQ(outcome(*accepted).reply, "Good day");
  std::string text;
  std::vector<std::string> resets;
  for (const Event& each : read(**subscription)) {
    if (each.type == "stream_chunk") text += each.data.string_or("content");
    if (each.type != "stream_reset") continue;
    resets.push_back(text);
    text = each.data.string_or("text");
  }
  EXPECT_EQ(resets, std::vector<std::string>{"Hello"});
  EXPECT_EQ(text, "Good day");
}

TEST_F(EventsTest, SubscribersAreBounded) {
  std::vector<std::unique_ptr<Subscription>> held;
  for (size_t i = 0; i < kMaxEventSubscribers; ++i) held.push_back(*run(engine().subscribe(kScope, "", "")));
  EXPECT_EQ(run(engine().subscribe(kScope, "", "")).error().code, Code::kRateLimited);
  held.pop_back();
  EXPECT_TRUE(run(engine().subscribe(kScope, "", "")));
}

TEST_F(EventsTest, ASlowSubscriberIsCutOffAndTheOthersGoOn) {
  FakeProvider::Reply reply{llm::Answer{.text = "x", .finish_reason = llm::FinishReason::kStop}};
  reply.deltas.assign(kMaxSubscriberQueue + 10, std::string(16 * 1024, 'x'));
  provider_.add(reply);
  auto slow = run(engine().subscribe(kScope, "", ""));
  auto other = run(engine().subscribe({"default", "u2", ""}, "", ""));
  outcome(*send("go"));
  const std::vector<Event> events = read(**slow, "never");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, "stream_reset");
  EXPECT_FALSE((*other)->try_next());
}

TEST_F(EventsTest, AFastModelCutsNobodyOff) {
  FakeProvider::Reply reply{llm::Answer{.text = "x", .finish_reason = llm::FinishReason::kStop}};
  for (size_t i = 0; i < 2 * kMaxSubscriberQueue; ++i) reply.deltas.push_back(fmt::format("{} ", i));
  reply.answer->text = strings::join(reply.deltas, "");
  provider_.add(reply);
  auto subscription = run(engine().subscribe(kScope, "", ""));
  outcome(*send("go"));
  std::string text;
  const std::vector<Event> events = read(**subscription);
  for (const Event& event : events) {
    EXPECT_NE(event.type, "stream_reset");
    if (event.type == "stream_chunk") text += event.data.string_or("content");
  }
  EXPECT_EQ(text, strings::trim(reply.answer->text));
  EXPECT_EQ(events.back().type, "turn_finished");
}

}  // namespace
}  // namespace chela::agent
