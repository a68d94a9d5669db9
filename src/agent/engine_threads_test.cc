#include <gtest/gtest.h>

#include "agent/engine_test_fixture.h"
#include "agent/turn/records.h"
#include "testing/turn_log_proxy.h"

namespace chela::agent {
namespace {

// An engine whose log counts what is read of it.
class ThreadsTest : public EngineTest {
 protected:
  ThreadsTest() {
    parts_.log = &log_;
    parts_.start();
  }
  ~ThreadsTest() override {
    parts_.log = nullptr;
    parts_.start();
  }
  Accepted turn(const std::string& thread, std::string text = "hello") {
    provider_.say("reply to " + text);
    const Result<Accepted> accepted = send(std::move(text), thread);
    EXPECT_TRUE(accepted) << accepted.error().text();
    if (!accepted) return {};
    EXPECT_EQ(outcome(*accepted).state, TurnState::kCompleted);
    return *accepted;
  }
  std::string new_thread() { return run(engine().create_thread(kScope, "test", ""))->id; }

  testing::TurnLogProxy log_{loop_, parts_.database().turn_log()};
};

TEST_F(ThreadsTest, ADraftIsStoredWithItsFirstMessage) {
  const Result<ThreadDraft> draft = engine().draft_thread(kScope, "v1");
  ASSERT_TRUE(draft);
  EXPECT_EQ(run(log_.thread(kScope, draft->id)).error().code, Code::kNotFound);
  EXPECT_TRUE(run(engine().subscribe(kScope, draft->id, "")));
  EXPECT_TRUE(run(engine().history(kScope, draft->id, 10, {}))->turns.empty());
  EXPECT_EQ(run(engine().history({"default", "u2", ""}, draft->id, 10, {})).error().code, Code::kNotFound);
  EXPECT_TRUE(run(engine().threads(kScope, {.limit = 10}))->empty());

  turn(draft->id);
  const Result<store::ThreadRow> row = run(log_.thread(kScope, draft->id));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->channel, "v1");
  EXPECT_EQ(row->turn_count, 1);
  EXPECT_EQ(run(engine().active_thread(kScope, "v1")).value(), draft->id);
  restart();
  turn(draft->id, "again");
  EXPECT_EQ(run(engine().history(kScope, draft->id, 10, {}))->turns.size(), 2u);
}

TEST_F(ThreadsTest, ADraftNeedsAnAgentThatIsThere) {
  EXPECT_EQ(engine().draft_thread({"default", "u1", "nobody"}, "v1").error().code, Code::kNotFound);
}

TEST_F(ThreadsTest, MessagesToANewNamedThreadMeetOnOne) {
  provider_.say("one");
  provider_.say("two");
  std::vector<Task<Result<Accepted>>> sending;
  for (int i = 0; i < 2; ++i) {
    sending.push_back(engine().send({.scope = kScope,
                                     .channel = "chat",
                                     .thread_id = {},
                                     .external_thread = "room 5",
                                     .content = "hello"}));
  }
  const auto accepted = run(runtime::gather(loop_, std::move(sending)));
  ASSERT_TRUE(accepted[0] && accepted[1]);
  EXPECT_EQ(accepted[0]->thread_id, accepted[1]->thread_id);
  outcome(*accepted[0]);
  restart();
  provider_.say("three");
  const auto later = run(engine().send({.scope = kScope,
                                        .channel = "chat",
                                        .thread_id = {},
                                        .external_thread = "room 5",
                                        .content = "hello"}));
  EXPECT_EQ(later->thread_id, accepted[0]->thread_id);
  EXPECT_EQ(run(engine().threads(kScope, {.limit = 10}))->size(), 1u);
}

TEST_F(ThreadsTest, ThreadsInMemoryAreBounded) {
  EXPECT_EQ(EngineSettings{}.max_loaded_threads, kMaxLoadedThreads);
  restart({.max_loaded_threads = 4});
  std::vector<std::string> threads;
  for (int i = 0; i < 5; ++i) {
    threads.push_back(new_thread());
    turn(threads.back());
  }
  log_.records_read = 0;
  turn(threads.back());
  EXPECT_EQ(log_.records_read, 0u);
  turn(threads.front());  // the one used longest ago was dropped
  EXPECT_GT(log_.records_read, 0u);
}

// Writes the names of the points it is told of, and of which session.
class Listener final : public hooks::Hook {
 public:
  Task<Result<hooks::Verdict>> run(hooks::Point point, hooks::Event event, std::stop_token) override {
    told.push_back(fmt::format("{} {}", hooks::point_name(point), event.user_id));
    sessions.push_back(event.session_id);
    co_return hooks::Verdict{};
  }
  std::vector<std::string> told;
  std::vector<std::string> sessions;
};

TEST_F(ThreadsTest, ASessionBeginsWithItsFirstTurnAndEndsWithItsLastThread) {
  const auto listener = std::make_shared<Listener>();
  parts_.hooks.add({.name = "listener",
                    .points = {hooks::Point::kOnSessionStart, hooks::Point::kOnSessionEnd},
                    .hook = listener});
  restart({.max_loaded_threads = 4});
  const std::string first = new_thread();
  EXPECT_TRUE(listener->told.empty());
  turn(first);
  turn(new_thread());
  EXPECT_EQ(listener->told, std::vector<std::string>{"onSessionStart u1"});

  // Another user's threads push those of the first out of memory.
  const Scope other{"default", "u2", ""};
  for (int i = 0; i < 6; ++i) {
    provider_.say("hi");
    const auto accepted = run(engine().send({.scope = other,
                                             .channel = "test",
                                             .thread_id = {},
                                             .external_thread = fmt::format("t{}", i),
                                             .content = "x"}));
    ASSERT_TRUE(run(engine().wait(other, accepted->turn_id, {})));
  }
  loop_.run_ready();
  EXPECT_EQ(listener->told,
            (std::vector<std::string>{"onSessionStart u1", "onSessionStart u2", "onSessionEnd u1"}));
  EXPECT_EQ(listener->sessions[2], listener->sessions[0]);
  EXPECT_NE(listener->sessions[1], listener->sessions[0]);

  turn(first, "back again");
  restart();
  EXPECT_EQ(listener->told.size(), 6u);  // the first user's second session, and the end of both
  EXPECT_EQ(listener->told[3], "onSessionStart u1");
  EXPECT_NE(listener->sessions[3], listener->sessions[0]);
}

// --- The past

TEST_F(ThreadsTest, TheLastTurnsOfALongThreadCostWhatTheyAre) {
  const std::string thread = new_thread();
  constexpr int kTurns = 2000;
  store::AppendRequest past{.scope = {"default", "u1", "default"}, .thread = thread, .add_turns = kTurns};
  for (int i = 0; i < kTurns; ++i) {
    const std::string id = fmt::format("turn {}", i);
    const auto add = [&](const turn::Input& input) {
      past.records.push_back({id, std::string(turn::kind_of(input)), turn::to_body(input)});
    };
    add(turn::TurnStarted{
        .turn = id, .number = i, .message_id = id, .input = fmt::format("message {}", i), .content = "m"});
    add(turn::ModelRequested{});
    add(turn::ModelAnswered{llm::Answer{.text = "reply"}});
    add(turn::TurnFinished{.reply = fmt::format("reply {}", i)});
  }
  ASSERT_TRUE(run(log_.append(std::move(past))));
  const auto read = [&] {
    log_.records_read = 0;
    const Result<History> last = run(engine().history(kScope, thread, 50, {}));
    ASSERT_TRUE(last);
    ASSERT_EQ(last->turns.size(), 50u);
    EXPECT_TRUE(last->has_more);
    EXPECT_EQ(last->turns[48].user_input, fmt::format("message {}", last->turns[48].number));
    EXPECT_EQ(last->turns[48].response, fmt::format("reply {}", last->turns[48].number));
    EXPECT_GE(last->turns.back().number, kTurns - 1);
    EXPECT_LE(log_.records_read, 2 * kHistoryPage);
  };
  read();
  turn(thread, "one more");  // now it is in memory
  read();
}

TEST_F(ThreadsTest, HistoryGoesBackPageByPage) {
  const std::string thread = new_thread();
  for (int i = 0; i < 25; ++i) {
    turn(thread, fmt::format("message {}", i));
    loop_.advance(1s);
  }
  std::optional<UnixMs> before;
  std::vector<std::int64_t> numbers;
  for (int page = 0; page < 3; ++page) {
    const Result<History> past = run(engine().history(kScope, thread, 10, before));
    ASSERT_TRUE(past);
    EXPECT_EQ(past->has_more, page < 2);
    for (auto turn = past->turns.rbegin(); turn != past->turns.rend(); ++turn) {
      numbers.push_back(turn->number);
      EXPECT_EQ(turn->state, TurnState::kCompleted);
    }
    before = past->turns.front().started_at;
  }
  ASSERT_EQ(numbers.size(), 25u);
  for (int i = 0; i < 25; ++i) EXPECT_EQ(numbers[static_cast<size_t>(i)], 24 - i);
  EXPECT_TRUE(run(engine().history(kScope, thread, 10, before))->turns.empty());
}

TEST_F(ThreadsTest, AForkHasTheTurnsItInherited) {
  const std::string thread = new_thread();
  for (int i = 0; i < 3; ++i) {
    turn(thread, fmt::format("message {}", i));
    loop_.advance(1s);
  }
  const std::int64_t at = run(log_.thread(kScope, thread))->last_seq;
  turn(thread, "not in the fork");
  const Result<ThreadInfo> fork = run(engine().fork(kScope, thread, at));
  ASSERT_TRUE(fork) << fork.error().text();
  EXPECT_EQ(fork->turn_count, 3);
  turn(fork->id, "in the fork");
  EXPECT_EQ(run(log_.thread(kScope, fork->id))->turn_count, 4);
  for (const bool loaded : {true, false}) {
    if (!loaded) restart();
    const Result<History> past = run(engine().history(kScope, fork->id, 10, {}));
    ASSERT_TRUE(past);
    ASSERT_EQ(past->turns.size(), 4u);
    EXPECT_EQ(past->turns[2].user_input, "message 2");
    EXPECT_EQ(past->turns[3].user_input, "in the fork");
    EXPECT_FALSE(past->has_more);
    const Result<History> older = run(engine().history(kScope, fork->id, 2, past->turns[2].started_at));
    ASSERT_TRUE(older);
    ASSERT_EQ(older->turns.size(), 2u);
    EXPECT_EQ(older->turns[0].user_input, "message 0");
    EXPECT_FALSE(older->has_more);
    EXPECT_TRUE(run(engine().history(kScope, fork->id, 3, {}))->has_more);
  }
}

TEST_F(ThreadsTest, ForksOfForksHaveALimit) {
  std::string thread = new_thread();
  turn(thread);
  const auto fork = [&] {
    return run(engine().fork(kScope, thread, run(log_.thread(kScope, thread))->last_seq));
  };
  for (int depth = 0; depth < kMaxForkDepth; ++depth) {
    const Result<ThreadInfo> next = fork();
    ASSERT_TRUE(next) << depth << " " << next.error().text();
    thread = next->id;
  }
  EXPECT_EQ(fork().error().code, Code::kUnprocessable);
  restart();
  turn(thread, "at the end");
  EXPECT_EQ(run(engine().history(kScope, thread, 10, {}))->turns.size(), 2u);
}

TEST_F(ThreadsTest, HistoryShowsWhatAClientsToolWasCalledWith) {
  provider_.call({{"", "weather", R"({"city":"Rome"})"}});
  const auto accepted = run(engine().send(
      {.scope = kScope,
       .channel = "v1",
       .thread_id = new_thread(),
       .content = "weather?",
       .client_tools = {{"weather", "gives the weather", json::Value::object({{"type", "object"}})}}}));
  ASSERT_TRUE(accepted);
  const TurnOutcome waiting = outcome(*accepted);
  ASSERT_EQ(waiting.client_calls.size(), 1u);
  const auto calls = [&] {
    return run(engine().history(kScope, accepted->thread_id, 10, {}))->turns.at(0).tool_calls;
  };
  ASSERT_EQ(calls().size(), 1u);
  EXPECT_EQ(calls()[0].id, waiting.client_calls[0].id);
  EXPECT_EQ(calls()[0].arguments.string_or("city"), "Rome");
  EXPECT_FALSE(calls()[0].has_result);
  provider_.say("sunny");
  ASSERT_TRUE(run(engine().send(
      {.scope = kScope,
       .channel = "v1",
       .thread_id = accepted->thread_id,
       .content = {},
       .client_results = {
           {.role = llm::Role::kTool, .content = "sun", .tool_call_id = waiting.client_calls[0].id}}})));
  outcome(*accepted);
  ASSERT_EQ(calls().size(), 1u);
  EXPECT_EQ(calls()[0].arguments.string_or("city"), "Rome");
  EXPECT_EQ(calls()[0].result_preview, "sun");
}

// --- First words

TEST_F(ThreadsTest, TheFirstWordsDoNotWaitForALazyCommit) {
  log_.lazy = testing::TurnLogProxy::Lazy::kHeld;
  const std::string thread = new_thread();
  auto events = run(engine().subscribe(kScope, thread, ""));
  ASSERT_TRUE(events);
  provider_.add({llm::Answer{.text = "xyz"}, {"x", "y", "z"}, true});
  const SteadyTime start = loop_.clock().steady();
  const auto accepted = send("go", thread);
  std::vector<std::string> seen;
  while (seen.empty() || seen.back() != "stream_chunk") {
    const std::optional<Event> event = run((*events)->next({}));
    ASSERT_TRUE(event);
    seen.push_back(event->type);
    if (event->type == "stream_chunk") EXPECT_EQ(event->id, "2.1");  // ModelRequested is the thread's second
  }
  EXPECT_EQ(loop_.clock().steady(), start);
  EXPECT_EQ(log_.commits_asked, 1);
  ASSERT_TRUE(run(engine().interrupt(kScope, accepted->thread_id)));
}

TEST_F(ThreadsTest, WithoutAnybodyWatchingTheLazyCommitWaits) {
  log_.lazy = testing::TurnLogProxy::Lazy::kHeld;
  turn(new_thread());
  EXPECT_EQ(log_.commits_asked, 0);
}

}  // namespace
}  // namespace chela::agent
