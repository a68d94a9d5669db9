#include "agent/commands/table.h"
#include "agent/engine_test_fixture.h"
#include "testing/settings_proxy.h"

namespace chela::agent {
namespace {

class CountingHook final : public hooks::Hook {
 public:
  Task<Result<hooks::Verdict>> run(hooks::Point, hooks::Event, std::stop_token) override {
    ++heard;
    co_return hooks::Verdict{};
  }
  int heard = 0;
};

class CommandsTest : public EngineTest {
 protected:
  // What the command answers; it has started no turn and the model has heard nothing of it.
  std::string reply(std::string text, std::string thread = {}, std::string key = {}) {
    const size_t requests = provider_.requests.size();
    const auto accepted = send(std::move(text), std::move(thread), std::move(key));
    EXPECT_TRUE(accepted) << accepted.error().message;
    if (!accepted) return {};
    EXPECT_EQ(accepted->turn_id, "");
    EXPECT_FALSE(accepted->thread_id.empty());
    EXPECT_EQ(provider_.requests.size(), requests);
    return accepted->reply.value_or("(no reply)");
  }
  std::string active() { return *run(engine().active_thread(kScope, "test")); }
  size_t turns(const std::string& thread) {
    return run(engine().history(kScope, thread, 100, {}))->turns.size();
  }
};

TEST_F(CommandsTest, LookingCommandsAnswerAtOnce) {
  EXPECT_EQ(reply("/ping"), "pong!");
  EXPECT_EQ(reply("  /VERSION\n"), "Chela 1.2.3");
  EXPECT_EQ(reply("/?"), commands::help_text());
  EXPECT_EQ(reply("/quit"), "Only the terminal can stop the engine.");
  EXPECT_NE(reply("/tools").find("asks"), std::string::npos);
  const std::string status = reply("/status");
  EXPECT_NE(status.find("State: idle"), std::string::npos);
  EXPECT_NE(status.find("Model: fake"), std::string::npos);
  EXPECT_EQ(turns(active()), 0u);
}

TEST_F(CommandsTest, EveryCommandOfTheTableIsPerformed) {
  for (const commands::Spec& spec : commands::table()) {
    const auto accepted = send(std::string(spec.words.front()));
    ASSERT_TRUE(accepted) << spec.words.front() << ": " << accepted.error().message;
    EXPECT_TRUE(accepted->reply) << spec.words.front();
  }
}

TEST_F(CommandsTest, AnUnknownWordNeverReachesTheModel) {
  EXPECT_NE(reply("/hlep me").find("The nearest is /help;"), std::string::npos);
  EXPECT_NE(reply("/heartbeat").find("there is no command /heartbeat"), std::string::npos);
  EXPECT_EQ(turns(active()), 0u);
}

TEST_F(CommandsTest, NewAndThreadChangeTheActiveThread) {
  const std::string first = active();
  const auto made = send("/new");
  ASSERT_TRUE(made);
  EXPECT_NE(made->thread_id, first);
  EXPECT_EQ(active(), made->thread_id);
  EXPECT_NE(reply("/thread").find(made->thread_id), std::string::npos);
  const auto back = send("/thread " + first);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->thread_id, first);
  EXPECT_EQ(active(), first);
  EXPECT_NE(reply("/thread nonsense").find("there is no thread 'nonsense'"), std::string::npos);
  EXPECT_EQ(active(), first);
}

TEST_F(CommandsTest, AThreadOfSomebodyElseIsNone) {
  const auto theirs = run(engine().create_thread({"default", "u2", ""}, "test", ""));
  ASSERT_TRUE(theirs);
  const std::string mine = active();
  EXPECT_NE(reply("/thread " + theirs->id).find("there is no thread"), std::string::npos);
  EXPECT_EQ(active(), mine);
}

TEST_F(CommandsTest, ARepeatedKeyBeginsOneThread) {
  const auto first = send("/new", "", "key");
  const auto again = send("/new", "", "key");
  ASSERT_TRUE(first && again);
  EXPECT_EQ(again->thread_id, first->thread_id);
  EXPECT_EQ(again->message_id, first->message_id);
  EXPECT_TRUE(again->duplicate && again->reply);
}

TEST_F(CommandsTest, ARepeatedKeyInterruptsOneTurn) {
  const auto hang = [this](const std::string& thread) {
    const size_t before = provider_.requests.size();
    provider_.add({.answer = llm::Answer{}, .stall = true});
    const auto accepted = send("hang", thread);
    until_requests(before + 1);
    return *accepted;
  };
  const Accepted first = hang("");
  EXPECT_EQ(reply("/interrupt", first.thread_id, "k"), "Interrupted.");
  const Accepted second = hang(first.thread_id);
  const auto again = send("/interrupt", first.thread_id, "k");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->duplicate);
  EXPECT_NE(reply("/status", first.thread_id).find("works on a turn"), std::string::npos);
  // A key that has ended nothing ends nothing later.
  EXPECT_EQ(reply("/interrupt", first.thread_id), "Interrupted.");
  EXPECT_EQ(outcome(second).state, TurnState::kInterrupted);
  EXPECT_EQ(reply("/interrupt", first.thread_id, "k2"), "Nothing to interrupt.");
  hang(first.thread_id);
  EXPECT_EQ(reply("/interrupt", first.thread_id, "k2"), "Done already.");
  EXPECT_EQ(reply("/interrupt", first.thread_id), "Interrupted.");
}

TEST_F(CommandsTest, ARepeatedKeyDoesNothingTwiceAndShowsAgain) {
  const std::string first = active();
  ASSERT_TRUE(send("/new"));
  const std::string second = active();
  reply("/thread " + first, second, "t");
  reply("/thread " + second, first);
  EXPECT_EQ(reply("/thread " + first, second, "t"), "Done already.");
  EXPECT_EQ(active(), second);

  reply("/model a", second, "m");
  reply("/model b", second);
  EXPECT_EQ(reply("/model a", second, "m"), "Done already.");
  EXPECT_EQ(*run(engine().model(kScope)), "b");

  const auto ping = send("/ping", second, "p");
  const auto pong = send("/ping", second, "p");
  ASSERT_TRUE(ping && pong);
  EXPECT_EQ(pong->message_id, ping->message_id);
  EXPECT_TRUE(pong->duplicate);
  EXPECT_EQ(pong->reply, "pong!");
  const auto wrong = send("/nonsense", second, "w");
  EXPECT_EQ(send("/nonsense", second, "w")->reply, wrong->reply);
}

TEST_F(CommandsTest, ARepeatedKeyDecidesOnce) {
  provider_.call({{"a", "asks", "{}"}});
  provider_.call({{"b", "asks", "{}"}});
  const auto accepted = send("go");
  const std::string yes = R"({"ExecApproval":{"request_id":")" + outcome(*accepted).approval->request_id +
                          R"(","approved":true,"always":false}})";
  const auto first = send(yes, accepted->thread_id, "k");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(outcome(*accepted).state, TurnState::kAwaitingApproval);
  const auto again = send(yes, accepted->thread_id, "k");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->duplicate);
  EXPECT_EQ(again->message_id, first->message_id);
  EXPECT_EQ(again->turn_id, accepted->turn_id);
  EXPECT_EQ(ask_runs_, 1);
}

TEST_F(CommandsTest, InterruptEndsTheRunningTurn) {
  EXPECT_EQ(reply("/stop"), "Nothing to interrupt.");
  provider_.add({.answer = llm::Answer{}, .stall = true});
  const auto accepted = send("hang");
  until_requests(1);
  EXPECT_NE(reply("/status").find("works on a turn"), std::string::npos);
  EXPECT_EQ(reply("/Interrupt"), "Interrupted.");
  EXPECT_EQ(outcome(*accepted).state, TurnState::kInterrupted);
}

TEST_F(CommandsTest, ApprovalsBySlashWord) {
  EXPECT_EQ(reply("/approve"), "Error: nothing waits for an approval.");
  provider_.call({{"a", "asks", "{}"}});
  provider_.call({{"b", "asks", "{}"}});
  provider_.say("done");
  const auto accepted = send("go");
  ASSERT_EQ(outcome(*accepted).state, TurnState::kAwaitingApproval);
  EXPECT_NE(reply("/status").find("waits for your approval of asks"), std::string::npos);
  const auto no = send("/DENY");
  ASSERT_TRUE(no);
  EXPECT_EQ(no->turn_id, accepted->turn_id);
  const TurnOutcome second = outcome(*accepted);
  ASSERT_EQ(second.state, TurnState::kAwaitingApproval);
  const auto yes = send(R"({"ExecApproval":{"request_id":")" + second.approval->request_id +
                        R"(","approved":true,"always":false}})");
  ASSERT_TRUE(yes);
  EXPECT_EQ(outcome(*accepted).reply, "done");
  EXPECT_EQ(ask_runs_, 1);
}

TEST_F(CommandsTest, HooksHearOnlyWhatIsSaidToTheAgent) {
  const auto hook = std::make_shared<CountingHook>();
  parts_.hooks.add({.name = "count", .points = {hooks::Point::kBeforeInbound}, .hook = hook});
  reply("/ping");
  reply("/nonsense");
  EXPECT_EQ(hook->heard, 0);
  provider_.say("hi");
  outcome(*send("hello"));
  EXPECT_EQ(hook->heard, 1);
}

TEST_F(CommandsTest, TheModelChangesFromTheNextTurnOnAndStaysSo) {
  provider_.listing = std::vector<std::string>{"fake", "Big-1"};
  EXPECT_EQ(reply("/model"), "Active: fake\nAvailable:\n  fake\n  Big-1");
  provider_.add({.answer = llm::Answer{.text = "slow"}, .stall = true});
  const auto running = send("hang");
  until_requests(1);
  EXPECT_EQ(reply("/model Big-1"), "Model Big-1 from the next turn on.");
  EXPECT_EQ(provider_.requests[0].model, "fake");
  reply("/stop");
  provider_.say("hi");
  outcome(*send("hello"));
  EXPECT_EQ(provider_.requests[1].model, "Big-1");
  restart();
  provider_.say("hi");
  outcome(*send("hello"));
  EXPECT_EQ(provider_.requests[2].model, "Big-1");
  EXPECT_NE(reply("/status").find("Model: Big-1"), std::string::npos);
  // Another user has the configured one.
  EXPECT_EQ(*run(engine().model({"default", "u2", ""})), "fake");
  EXPECT_EQ(reply("/model DEFAULT"), "Back to the configured model, fake, from the next turn on.");
  EXPECT_EQ(*run(engine().model(kScope)), "fake");
}

TEST_F(CommandsTest, AnUnknownModelIsTakenWithAHint) {
  EXPECT_NE(reply("/model other").find("does not list it; the name is sent as it is"), std::string::npos);
  provider_.listing = fail(Code::kUnavailable, "nobody is there");
  EXPECT_NE(reply("/model third").find("could not be asked: nobody is there"), std::string::npos);
  EXPECT_NE(reply("/model").find("Active: third"), std::string::npos);
  EXPECT_NE(reply("/model two words").find("Error"), std::string::npos);
  provider_.listing = std::vector<std::string>(kMaxListedModels + 5, "m");
  EXPECT_NE(reply("/model").find("and 5 more"), std::string::npos);
}

TEST_F(CommandsTest, AListOfModelsThatDoesNotComeIsNotWaitedForLong) {
  provider_.listing_takes = kModelListTimeout - 1ms;
  EXPECT_NE(reply("/model").find("Available:"), std::string::npos);
  provider_.listing_takes = 1h;
  const SteadyTime before = loop_.clock().steady();
  EXPECT_NE(reply("/model").find("The others are not known"), std::string::npos);
  EXPECT_EQ(loop_.clock().steady() - before, kModelListTimeout);
}

TEST_F(CommandsTest, WatchersOfTheThreadSeeTheAnswer) {
  const std::string thread = active();
  const auto elsewhere = run(engine().create_thread(kScope, "other", ""));
  auto watching = run(engine().subscribe(kScope, thread, ""));
  auto other = run(engine().subscribe(kScope, elsewhere->id, ""));
  ASSERT_TRUE(watching && other);
  reply("/ping", thread);
  const std::optional<Event> event = (*watching)->try_next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, "response");
  EXPECT_EQ(event->id, "");
  EXPECT_EQ(event->data.string_or("content"), "pong!");
  EXPECT_EQ(event->data.string_or("thread_id"), thread);
  EXPECT_TRUE(event->data.bool_or("command", false));
  EXPECT_FALSE((*other)->try_next());
}

// Reads at once which model was chosen, and says it when it is let.
class SlowSettings final : public testing::SettingsProxy {
 public:
  SlowSettings(runtime::EventLoop& loop, store::SettingsStore& inner) : SettingsProxy(inner), let(loop) {}
  Task<Result<std::optional<std::string>>> get(Scope scope, std::string key) override {
    const bool slow = key.starts_with("model:") && !asked;
    auto value = co_await SettingsProxy::get(std::move(scope), std::move(key));
    if (!slow) co_return value;
    asked = true;
    co_await let;
    co_return value;
  }

  bool asked = false;
  runtime::Completion<bool> let;
};

Task<> ask_model(Engine& engine, Scope scope, std::string* name) {
  const Result<std::string> model = co_await engine.model(std::move(scope));
  *name = model ? *model : model.error().message;
}

// What was read before a choice is not kept as what was chosen.
TEST_F(EngineTest, AModelChosenWhileTheOldOneIsReadStaysChosen) {
  SlowSettings settings(loop_, parts_.database().settings());
  parts_.settings = &settings;
  restart();
  runtime::TaskGroup tasks(loop_);
  std::string first;
  tasks.spawn(ask_model(engine(), kScope, &first));
  loop_.run_until([&] { return settings.asked; });
  ASSERT_TRUE(run(engine().use_model(kScope, "other")));
  settings.let.resolve(true);
  loop_.run_until([&] { return !first.empty(); });
  EXPECT_EQ(*run(engine().model(kScope)), "other");
  run(tasks.join());
  parts_.settings = nullptr;
  restart();
}

}  // namespace
}  // namespace chela::agent
