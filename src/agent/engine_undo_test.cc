#include "agent/engine_test_fixture.h"

namespace chela::agent {
namespace {

// Undo, redo, clear, compact, summarize, retry and edit, on a thread with a conversation.
class UndoTest : public EngineTest {
 protected:
  void talk(std::vector<std::string> texts) {
    for (const std::string& text : texts) {
      provider_.say("re: " + text);
      const auto accepted = send(text, thread_);
      ASSERT_TRUE(accepted) << accepted.error().message;
      thread_ = accepted->thread_id;
      ASSERT_EQ(outcome(*accepted).state, TurnState::kCompleted);
    }
  }
  std::string command(std::string text, std::string key = {}) {
    const auto accepted = send(std::move(text), thread_, std::move(key));
    EXPECT_TRUE(accepted) << accepted.error().message;
    return accepted ? accepted->reply.value_or("(no reply)") : "";
  }
  // What a person sees of the thread.
  std::vector<std::string> inputs(std::string thread = {}) {
    std::vector<std::string> out;
    for (const HistoryTurn& turn :
         run(engine().history(kScope, thread.empty() ? thread_ : thread, 100, {}))->turns)
      out.push_back(turn.user_input);
    return out;
  }
  ThreadInfo info(const std::string& thread) {
    for (const ThreadInfo& each : *run(engine().threads(kScope, {.limit = 100}))) {
      if (each.id == thread) return each;
    }
    return {};
  }
  // The texts of the last request, without the system prompt and the context blocks.
  std::vector<std::string> seen() {
    std::vector<std::string> out;
    for (const llm::Message& message : provider_.requests.back().messages) {
      if (message.role == llm::Role::kSystem) continue;
      const size_t end = message.content.find("</context>\n\n");
      out.push_back(end == std::string::npos ? message.content : message.content.substr(end + 12));
    }
    return out;
  }
  void expect_replays(const std::string& thread) {
    const auto report = run(engine().replay(kScope, thread, 0));
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->differences.empty()) << report->differences.front();
  }

  // Sends once the model has been asked so often.
  Task<Result<Accepted>> send_after(size_t requests, std::string text) {
    while (provider_.requests.size() < requests) co_await runtime::yield(loop_);
    co_return co_await engine().send({.scope = kScope,
                                      .channel = "test",
                                      .thread_id = thread_,
                                      .content = std::move(text),
                                      .permissions = {"*"}});
  }
  // /summarize, and `text` while the model writes the summary.
  std::vector<Result<Accepted>> during_summary(std::string text) {
    provider_.add({.answer = llm::Answer{.text = "sum"}, .stall = true});
    const size_t requests = provider_.requests.size();
    std::vector<Task<Result<Accepted>>> both;
    both.push_back(send_after(requests, "/summarize"));
    both.push_back(send_after(requests + 1, std::move(text)));
    return run(runtime::gather(loop_, std::move(both)));
  }

  std::string thread_;
  using Texts = std::vector<std::string>;
};

TEST_F(UndoTest, UndoAndRedoAreWhatEverybodySees) {
  talk({"one", "two", "three"});
  EXPECT_EQ(command("/undo"), "Undone to turn 2. 2 undo(s) remaining.");
  EXPECT_EQ(command("/undo"), "Undone to turn 1. 1 undo(s) remaining.");
  EXPECT_EQ(inputs(), (Texts{"one"}));
  EXPECT_EQ(info(thread_).turn_count, 1);
  EXPECT_EQ(command("/redo"), "Redone to turn 2.");
  EXPECT_EQ(inputs(), (Texts{"one", "two"}));
  talk({"four"});
  EXPECT_EQ(seen(), (Texts{"one", "re: one", "two", "re: two", "four"}));
  EXPECT_EQ(command("/redo"), "Nothing to redo.");
  EXPECT_EQ(inputs(), (Texts{"one", "two", "four"}));
  EXPECT_EQ(run(engine().history(kScope, thread_, 10, {}))->turns.back().number, 2);
  EXPECT_EQ(info(thread_).turn_count, 3);
  expect_replays(thread_);
}

TEST_F(UndoTest, ARestartKeepsWhatWasUndone) {
  talk({"one", "two"});
  command("/undo");
  restart();
  EXPECT_EQ(inputs(), (Texts{"one"}));
  EXPECT_EQ(command("/redo"), "Redone to turn 2.");
  restart();
  EXPECT_EQ(command("/undo"), "Undone to turn 1. 1 undo(s) remaining.");
  EXPECT_EQ(command("/undo"), "Undone to turn 0. 0 undo(s) remaining.");
  EXPECT_EQ(command("/undo"), "Nothing to undo.");
  expect_replays(thread_);
}

TEST_F(UndoTest, ARepeatedKeyUndoesOnce) {
  talk({"one", "two", "three"});
  command("/undo", "k");
  EXPECT_EQ(command("/undo", "k"), "Done already.");
  EXPECT_EQ(inputs(), (Texts{"one", "two"}));
}

TEST_F(UndoTest, NotWhileATurnRuns) {
  talk({"one"});
  provider_.add({.answer = llm::Answer{}, .stall = true});
  const auto accepted = send("hang", thread_);
  until_requests(2);
  for (const char* word : {"/undo", "/redo", "/clear", "/compact", "/summarize"})
    EXPECT_NE(command(word).find("a turn is in progress"), std::string::npos) << word;
  EXPECT_EQ(run(engine().retry(kScope, thread_, "")).error().code, Code::kConflict);
  command("/stop");
  EXPECT_EQ(command("/undo"), "Undone to turn 1. 1 undo(s) remaining.");
  EXPECT_EQ(inputs(), (Texts{"one"}));
}

TEST_F(UndoTest, ClearBeginsAnew) {
  talk({"one", "two"});
  EXPECT_EQ(command("/clear"), "Thread cleared.");
  EXPECT_EQ(inputs(), Texts{});
  EXPECT_EQ(info(thread_).turn_count, 0);
  EXPECT_EQ(command("/undo"), "Nothing to undo.");
  talk({"three"});
  EXPECT_EQ(seen(), (Texts{"three"}));
  restart();
  EXPECT_EQ(inputs(), (Texts{"three"}));
  expect_replays(thread_);
}

TEST_F(UndoTest, WatchersAreToldThatTheThreadHasChanged) {
  talk({"one"});
  auto events = run(engine().subscribe(kScope, thread_, ""));
  command("/undo");
  const std::optional<Event> event = (*events)->try_next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, "thread_changed");
  EXPECT_EQ(event->data.string_or("reason"), "undone");
  EXPECT_FALSE(event->id.empty());
  command("/redo");
  command("/clear");
  Texts reasons;
  while (const std::optional<Event> next = (*events)->try_next()) {
    if (next->type == "thread_changed") reasons.push_back(next->data.string_or("reason"));
  }
  EXPECT_EQ(reasons, (Texts{"redone", "cleared"}));
}

TEST_F(UndoTest, AForkKnowsWhatIsUndoneAndCanUndoFurther) {
  talk({"one", "two", "three"});
  command("/undo");
  const auto log = run(engine().log(kScope, thread_, 0, 1000));
  const auto last = static_cast<std::int64_t>(log->find("records")->as_array()->size());
  const auto fork = run(engine().fork(kScope, thread_, last));
  ASSERT_TRUE(fork);
  EXPECT_EQ(fork->turn_count, 2);
  EXPECT_EQ(inputs(fork->id), (Texts{"one", "two"}));
  thread_ = fork->id;
  EXPECT_EQ(command("/undo"), "Undone to turn 1. 1 undo(s) remaining.");
  EXPECT_EQ(inputs(), (Texts{"one"}));
  EXPECT_EQ(info(thread_).turn_count, 1);
  restart();
  EXPECT_EQ(inputs(), (Texts{"one"}));
  expect_replays(thread_);
}

TEST_F(UndoTest, CompactLeavesOldTurnsOutOfThePrompt) {
  EXPECT_EQ(command("/compact"), "Nothing to compact.");
  thread_.clear();
  talk({"one " + std::string(400, 'x'), "two " + std::string(400, 'x'), "three"});
  const std::string reply = command("/compact");
  EXPECT_NE(reply.find("2 turn(s) removed"), std::string::npos) << reply;
  talk({"four"});
  EXPECT_EQ(seen(), (Texts{"three", "re: three", "four"}));
  EXPECT_EQ(inputs().size(), 4u);
  expect_replays(thread_);
}

TEST_F(UndoTest, ASummaryTakesThePlaceOfOldTurns) {
  thread_ = *run(engine().active_thread(kScope, "test"));
  EXPECT_EQ(command("/summary"), "Nothing to summarize yet.");
  talk({"one " + std::string(800, 'x'), "two", "three", "four"});
  provider_.say("- they counted to two");
  const std::string reply = command("/summarize");
  EXPECT_NE(reply.find("2 turn(s) became a summary"), std::string::npos) << reply;
  EXPECT_NE(reply.find("they counted to two"), std::string::npos);
  const llm::Request& asked = provider_.requests.back();
  EXPECT_NE(asked.messages.back().content.find("User: "), std::string::npos);
  EXPECT_EQ(asked.messages.back().content.find("three"), std::string::npos);
  EXPECT_TRUE(asked.tools.empty());
  talk({"five"});
  EXPECT_EQ(seen(), (Texts{"three", "re: three", "four", "re: four", "five"}));
  EXPECT_NE(provider_.requests.back().messages[1].content.find("they counted to two"), std::string::npos);
  EXPECT_EQ(inputs().size(), 5u);
  // Undo stops at what the summary tells of.
  EXPECT_EQ(command("/undo"), "Undone to turn 4. 2 undo(s) remaining.");
  restart();
  expect_replays(thread_);
}

TEST_F(UndoTest, ASummaryThatSavesNothingChangesNothing) {
  talk({"one", "two", "three"});
  provider_.say(std::string(4000, 's'));
  EXPECT_NE(command("/summarize").find("Nothing was changed"), std::string::npos);
  provider_.add({fail(Code::kUpstream, "no")});
  EXPECT_EQ(send("/summarize", thread_).error().code, Code::kUpstream);
  talk({"four"});
  EXPECT_EQ(seen().size(), 7u);
}

TEST_F(UndoTest, ASummaryHasASizeAndIsWrittenFromTheNewestPart) {
  talk(
      {"first " + std::string(60'000, 'x'), "second " + std::string(60'000, 'y') + " last", "three", "four"});
  provider_.say(std::string(kMaxSummaryBytes + 100, 'S'));
  const std::string reply = command("/summarize");
  EXPECT_EQ(std::count(reply.begin(), reply.end(), 'S') - 1, std::ptrdiff_t{kMaxSummaryBytes}) << reply;
  const std::string& source = provider_.requests.back().messages.back().content;
  EXPECT_EQ(source.size(), kMaxSummarySourceBytes);
  EXPECT_TRUE(source.ends_with(" last")) << source.substr(source.size() - 100);
  EXPECT_FALSE(source.contains("User: first"));
}

TEST_F(UndoTest, ASummaryThatTakesTooLongChangesNothing) {
  talk({"one " + std::string(800, 'x'), "two", "three", "four"});
  provider_.add({.answer = llm::Answer{.text = "late"}, .stall = true});
  const SteadyTime before = loop_.clock().steady();
  EXPECT_EQ(send("/summarize", thread_).error().code, Code::kTimeout);
  EXPECT_EQ(loop_.clock().steady() - before, kSummaryTimeout);
  talk({"five"});
  EXPECT_EQ(seen().size(), 9u);
}

TEST_F(UndoTest, AMessageDoesNotWaitForASummaryAndEndsIt) {
  talk({"one " + std::string(800, 'x'), "two", "three", "four"});
  const SteadyTime before = loop_.clock().steady();
  const auto answers = during_summary("five");
  ASSERT_TRUE(answers[0] && answers[1]);
  EXPECT_NE(answers[0]->reply->find("went on while the summary"), std::string::npos) << *answers[0]->reply;
  EXPECT_LT(loop_.clock().steady() - before, 1s);
  provider_.say("re: five");
  outcome(*answers[1]);
  EXPECT_EQ(inputs().size(), 5u);
  expect_replays(thread_);
}

TEST_F(UndoTest, AnInterruptEndsASummary) {
  talk({"one " + std::string(800, 'x'), "two", "three", "four"});
  const SteadyTime before = loop_.clock().steady();
  const auto answers = during_summary("/interrupt");
  ASSERT_TRUE(answers[0] && answers[1]);
  EXPECT_EQ(answers[0]->reply, "Interrupted: no summary was made.");
  EXPECT_EQ(answers[1]->reply, "Interrupted.");
  EXPECT_LT(loop_.clock().steady() - before, 1s);
  EXPECT_EQ(command("/interrupt"), "Nothing to interrupt.");
  // One at a time.
  provider_.stall = kSummaryTimeout / 2;
  const auto two = during_summary("/status");
  EXPECT_NE(two[1]->reply->find("writes a summary"), std::string::npos);
  EXPECT_TRUE(two[0]);
}

// What a client gave with a turn goes with the turn that takes its place.
TEST_F(UndoTest, RetryAndEditKeepWhatTheClientGave) {
  Inbound message{.scope = kScope,
                  .channel = "v1",
                  .thread_id = {},
                  .external_thread = "c",
                  .content = "weather?",
                  .permissions = {"*"},
                  .client_tools = {{"weather", "gives it", json::Value::object({{"type", "object"}})}},
                  .client_system = "like a pirate",
                  .history = {{llm::Role::kUser, "earlier"}, {llm::Role::kAssistant, "re: earlier"}},
                  .sampling = {.top_p = 0.5}};
  provider_.say("sunny");
  const auto accepted = run(engine().send(message));
  ASSERT_TRUE(accepted) << accepted.error().message;
  outcome(*accepted);
  const llm::Request first = provider_.requests.back();
  thread_ = accepted->thread_id;
  const auto expect_same_terms = [&] {
    const llm::Request& request = provider_.requests.back();
    EXPECT_EQ(request.sampling, first.sampling);
    EXPECT_EQ(request.tools.size(), first.tools.size());
    EXPECT_EQ(request.messages.front().content, first.messages.front().content);
  };
  restart();
  provider_.say("rainy");
  outcome(*run(engine().retry(kScope, thread_, "", {"*"})));
  EXPECT_EQ(seen(), (Texts{"earlier", "re: earlier", "weather?"}));
  expect_same_terms();
  provider_.say("windy");
  const auto edited =
      run(engine().edit(0, {.scope = kScope, .channel = "", .thread_id = thread_, .content = "wind?"}));
  ASSERT_TRUE(edited) << edited.error().message;
  outcome(*edited);
  EXPECT_EQ(seen(), (Texts{"earlier", "re: earlier", "wind?"}));
  expect_same_terms();
  expect_replays(thread_);
  expect_replays(edited->thread_id);
}

TEST_F(UndoTest, AnEditOfTheFirstMessageKeepsTheClientsHistory) {
  provider_.say("sunny");
  const auto accepted = run(
      engine().send({.scope = kScope,
                     .channel = "v1",
                     .thread_id = {},
                     .external_thread = "c",
                     .content = "weather?",
                     .history = {{llm::Role::kUser, "earlier"}, {llm::Role::kAssistant, "re: earlier"}}}));
  outcome(*accepted);
  for (std::string thread = accepted->thread_id; const char* words : {"wind?", "rain?"}) {
    provider_.say("so so");
    const auto edited =
        run(engine().edit(0, {.scope = kScope, .channel = "", .thread_id = thread, .content = words}));
    ASSERT_TRUE(edited) << edited.error().message;
    outcome(*edited);
    EXPECT_EQ(seen(), (Texts{"earlier", "re: earlier", words}));
    thread = edited->thread_id;
    expect_replays(thread);
  }
}

TEST_F(UndoTest, RetryOfMoreThanAMessageMayHoldIsRefused) {
  restart({.max_message_bytes = 20});
  provider_.call({{"a", "asks", "{}"}});
  provider_.say("done");
  const auto accepted = send("ask me");
  const TurnOutcome asked = outcome(*accepted);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(send("and this as well", accepted->thread_id));
  ASSERT_TRUE(run(engine().decide(kScope, asked.approval->request_id, Decision::kDeny, {"*"})));
  outcome(*accepted);
  EXPECT_EQ(run(engine().retry(kScope, accepted->thread_id, "", {"*"})).error().code, Code::kTooLarge);
}

TEST_F(UndoTest, RetryGivesTheSameInputAgainInOneStep) {
  talk({"one", "two"});
  provider_.say("better");
  const auto again = run(engine().retry(kScope, thread_, "k"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(outcome(*again).reply, "better");
  EXPECT_EQ(seen(), (Texts{"one", "re: one", "two"}));
  EXPECT_EQ(inputs(), (Texts{"one", "two"}));
  EXPECT_EQ(info(thread_).turn_count, 2);
  const auto repeated = run(engine().retry(kScope, thread_, "k"));
  ASSERT_TRUE(repeated);
  EXPECT_TRUE(repeated->duplicate);
  EXPECT_EQ(repeated->turn_id, again->turn_id);
  EXPECT_EQ(provider_.requests.size(), 3u);
  expect_replays(thread_);
}

TEST_F(UndoTest, RetryNeedsATurn) {
  thread_ = *run(engine().active_thread(kScope, "test"));
  EXPECT_EQ(run(engine().retry(kScope, thread_, "")).error().code, Code::kConflict);
  EXPECT_EQ(run(engine().retry(kScope, "nonsense", "")).error().code, Code::kNotFound);
  EXPECT_EQ(run(engine().retry({"default", "u2", ""}, thread_, "")).error().code, Code::kNotFound);
}

TEST_F(UndoTest, AFailedTurnCanBeTriedAgain) {
  talk({"one"});
  provider_.add({fail(Code::kUpstream, "no")});
  const auto accepted = send("two", thread_);
  EXPECT_EQ(outcome(*accepted).state, TurnState::kFailed);
  provider_.say("now");
  EXPECT_EQ(outcome(*run(engine().retry(kScope, thread_, ""))).reply, "now");
  EXPECT_EQ(inputs(), (Texts{"one", "two"}));
}

TEST_F(UndoTest, AnEditGoesOnInANewThread) {
  talk({"one", "two", "three"});
  provider_.say("changed");
  const auto edited = run(engine().edit(
      1, {.scope = kScope, .channel = "", .thread_id = thread_, .content = "zwei", .idempotency_key = "k"}));
  ASSERT_TRUE(edited) << edited.error().message;
  EXPECT_NE(edited->thread_id, thread_);
  EXPECT_EQ(outcome(*edited).reply, "changed");
  EXPECT_EQ(seen(), (Texts{"one", "re: one", "zwei"}));
  EXPECT_EQ(inputs(edited->thread_id), (Texts{"one", "zwei"}));
  EXPECT_EQ(inputs(), (Texts{"one", "two", "three"}));
  EXPECT_EQ(*run(engine().active_thread(kScope, "test")), edited->thread_id);
  EXPECT_EQ(info(edited->thread_id).turn_count, 2);
  const auto again = run(engine().edit(
      1, {.scope = kScope, .channel = "", .thread_id = thread_, .content = "zwei", .idempotency_key = "k"}));
  EXPECT_EQ(again->thread_id, edited->thread_id);
  restart();
  EXPECT_EQ(inputs(edited->thread_id), (Texts{"one", "zwei"}));
  expect_replays(edited->thread_id);
  // An edit of an edit, in what the first took over from the other thread.
  provider_.say("again");
  const auto twice = run(
      engine().edit(0, {.scope = kScope, .channel = "", .thread_id = edited->thread_id, .content = "eins"}));
  ASSERT_TRUE(twice) << twice.error().message;
  outcome(*twice);
  EXPECT_EQ(seen(), (Texts{"eins"}));
  EXPECT_EQ(inputs(twice->thread_id), (Texts{"eins"}));
}

TEST_F(UndoTest, AnEditNeedsATurnThatCanBeSeen) {
  talk({"one", "two"});
  command("/undo");
  const auto edit = [this](std::int64_t number, std::string content) {
    return run(engine().edit(
        number, {.scope = kScope, .channel = "", .thread_id = thread_, .content = std::move(content)}));
  };
  EXPECT_EQ(edit(1, "x").error().code, Code::kNotFound);
  EXPECT_EQ(edit(-1, "x").error().code, Code::kNotFound);
  EXPECT_EQ(edit(0, " ").error().code, Code::kInvalidArgument);
  EXPECT_EQ(edit(0, "/undo").error().code, Code::kInvalidArgument);
  const size_t threads = run(engine().threads(kScope, {.limit = 100}))->size();
  EXPECT_EQ(threads, 1u);
}

TEST_F(UndoTest, AnEditOfARunningTurnLeavesItRunning) {
  provider_.add({.answer = llm::Answer{}, .stall = true});
  const auto accepted = send("hang");
  until_requests(1);
  provider_.say("other");
  const auto edited = run(engine().edit(
      0, {.scope = kScope, .channel = "", .thread_id = accepted->thread_id, .content = "do not"}));
  ASSERT_TRUE(edited);
  EXPECT_EQ(outcome(*edited).reply, "other");
  EXPECT_TRUE(run(engine().interrupt(kScope, accepted->thread_id, accepted->turn_id)));
}

}  // namespace
}  // namespace chela::agent
