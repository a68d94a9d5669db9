#include "agent/dialects/test_formats.h"
#include "agent/engine_test_fixture.h"
#include "agent/turn/notes.h"

// Calls that models write as text, through whole turns.
namespace chela::agent {
namespace {

using llm::ToolCalling;

constexpr std::string_view kAsks = "I ask.\n\u25C1\n{\"name\": \"asks\", \"arguments\": {\"n\": 1}}\n\u25B7";

class DialectsTest : public EngineTest {
 protected:
  DialectsTest() { add_tool("shell", tools::Approval::kNever, &shell_runs_); }

  // An answer that comes in pieces of about so many bytes.
  void write(std::string text, size_t size, llm::FinishReason reason = llm::FinishReason::kStop) {
    FakeProvider::Reply reply{llm::Answer{.text = text, .finish_reason = reason, .model = "fake"}};
    for (std::string_view rest = text; !rest.empty();) {
      size_t end = std::min(size, rest.size());
      while (end < rest.size() && (static_cast<unsigned char>(rest[end]) & 0xc0) == 0x80) ++end;
      reply.deltas.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    provider_.add(std::move(reply));
  }

  // What a subscriber shows of one turn: the pieces of each answer.
  std::string shown(Subscription& events) {
    std::string text;
    while (std::optional<Event> event = run(events.next({}))) {
      if (event->type == "stream_chunk") text += event->data.string_or("content");
      if (event->type == "usage") text += "|";
      if (event->type == "turn_finished") break;
    }
    return text;
  }

  std::string new_thread() { return run(engine().create_thread(kScope, "test", "")).value().id; }

  void expect_replay(const std::string& thread) {
    const auto report = run(engine().replay(kScope, thread, 0));
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->differences.empty()) << report->differences.front();
  }

  int shell_runs_ = 0;
};

TEST_F(DialectsTest, EveryNotationIsACall) {
  for (const ToolCalling calling : {ToolCalling::kNative, ToolCalling::kPrompted}) {
    parts_.tool_calling = calling;
    const bool prompted = calling == ToolCalling::kPrompted;
    for (const dialects::WrittenCall& each : dialects::kWrittenCalls) {
      SCOPED_TRACE(fmt::format("{} {}", llm::tool_calling_name(calling), each.name));
      const bool whole_answer = each.text.starts_with('{') || each.text.starts_with("[shell");
      const std::string text =
          std::string(whole_answer ? "" : "<think>hm, <b</think>I look.\n") + std::string(each.text);
      const std::string said = whole_answer ? "" : "I look.";
      const int before = shell_runs_;
      provider_.requests.clear();
      write(text, 3);
      write("It is done.", 4);
      auto events = run(engine().subscribe(kScope, "", ""));
      const auto accepted = send("go", new_thread());
      ASSERT_TRUE(accepted) << accepted.error().message;
      const TurnOutcome done = outcome(*accepted);
      EXPECT_EQ(done.reply, "It is done.");
      EXPECT_EQ(done.visible, said.empty() ? "It is done." : said + "\n\nIt is done.");
      EXPECT_EQ(shell_runs_, before + 1);
      EXPECT_EQ(shown(**events), said + "|It is done.|");

      ASSERT_EQ(provider_.requests.size(), 2u);
      const llm::Request& first = provider_.requests[0];
      const llm::Request& second = provider_.requests[1];
      EXPECT_EQ(first.tools.empty(), prompted);
      EXPECT_EQ(first.messages[0].content.contains("## Tool Use Protocol"), prompted);
      EXPECT_EQ(first.messages[0].content.contains("**shell**"), prompted);
      EXPECT_TRUE(std::equal(first.messages.begin(), first.messages.end(), second.messages.begin()));
      const llm::Message& called = second.messages[second.messages.size() - 2];
      const llm::Message& result = second.messages.back();
      EXPECT_TRUE(result.content.contains(R"(result of shell {"command":"ls"})")) << result.content;
      EXPECT_TRUE(called.content.starts_with(said));
      EXPECT_EQ(called.tool_calls.size(), prompted ? 0u : 1u);
      EXPECT_EQ(called.content.contains("\u25C1"), prompted);
      EXPECT_EQ(result.role, prompted ? llm::Role::kUser : llm::Role::kTool);
      EXPECT_EQ(result.content.starts_with("[Tool results]\n<tool_result name=\"shell\" status=\"ok\">"),
                prompted);

      const auto history = run(engine().history(kScope, accepted->thread_id, 10, {}));
      ASSERT_TRUE(history);
      const HistoryTurn& turn = history->turns.at(0);
      EXPECT_EQ(turn.response, "It is done.");
      ASSERT_EQ(turn.tool_calls.size(), 1u);
      EXPECT_EQ(json::write(turn.tool_calls[0].arguments), R"({"command":"ls"})");
      ASSERT_EQ(turn.steps.size(), said.empty() ? 1u : 2u);
      EXPECT_EQ(turn.steps[0].text, said);
      expect_replay(accepted->thread_id);
    }
  }
}

TEST_F(DialectsTest, ACallThatWasReadSurvivesARestart) {
  for (const ToolCalling calling : {ToolCalling::kNative, ToolCalling::kPrompted}) {
    parts_.tool_calling = calling;
    const int before = ask_runs_;
    write(std::string(kAsks), 5);
    const auto accepted = send("go", new_thread());
    const std::string request = outcome(*accepted).approval->request_id;
    // The turn keeps the way of calling that it began with.
    parts_.tool_calling = calling == ToolCalling::kNative ? ToolCalling::kPrompted : ToolCalling::kNative;
    restart();
    provider_.say("done");
    provider_.requests.clear();
    ASSERT_TRUE(run(engine().decide(kScope, request, Decision::kApprove, {"*"})));
    until_requests(1);
    EXPECT_EQ(ask_runs_, before + 1);
    EXPECT_EQ(provider_.requests[0].tools.empty(), calling == ToolCalling::kPrompted);
    const TurnOutcome done = outcome(*accepted);
    EXPECT_EQ(done.reply, "done");
    expect_replay(accepted->thread_id);
  }
}

TEST_F(DialectsTest, ACutCallIsNotRunAndTheModelIsTold) {
  write("I look.\n<tool_call>{\"name\":\"shell\",\"arguments\":{\"command\":\"rm -rf /tmp/x", 4,
        llm::FinishReason::kLength);
  write("shell/command>ls", 4);
  write("Done.", 4);
  auto events = run(engine().subscribe(kScope, "", ""));
  const auto accepted = send("go");
  EXPECT_EQ(outcome(*accepted).reply, "Done.");
  EXPECT_EQ(shell_runs_, 1);
  EXPECT_EQ(shown(**events), "I look.||Done.|");
  EXPECT_EQ(provider_.requests[1].messages.back().content, turn::kCutCallNote);
  expect_replay(accepted->thread_id);
}

TEST_F(DialectsTest, ACallThatCannotBeReadIsToldToTheModel) {
  write("<tool_call>{\"name\":\"shall\",\"arguments\":{}}</tool_call>", 4);
  write("Then not.", 4);
  const auto accepted = send("go");
  EXPECT_EQ(outcome(*accepted).reply, "Then not.");
  EXPECT_EQ(provider_.requests[1].messages.back().content, turn::kUnreadableCallNote);
  expect_replay(accepted->thread_id);
}

TEST_F(DialectsTest, CallsBesideStructuredOnesAreNotRunTwice) {
  FakeProvider::Reply both{llm::Answer{
      .text = "So. <tool_call>{\"name\":\"shell\",\"arguments\":{\"command\":\"ls\"}}</tool_call>",
      .tool_calls = {{"a", "shell", R"({"command":"ls"})"}},
      .finish_reason = llm::FinishReason::kToolCalls}};
  provider_.add(both);
  provider_.say("done");
  const TurnOutcome done = outcome(*send("go"));
  EXPECT_EQ(done.visible, "So.\n\ndone");
  EXPECT_EQ(shell_runs_, 1);
}

TEST_F(DialectsTest, ThoughtsAreInTheLogAndNotInTheConversation) {
  write("<think>the plan</think>Hello.", 2);
  provider_.say("again");
  const auto accepted = send("go");
  EXPECT_EQ(outcome(*accepted).visible, "Hello.");
  outcome(*send("and", accepted->thread_id));
  EXPECT_EQ(provider_.requests[1].messages[2].content, "Hello.");
  const auto log = run(engine().log(kScope, accepted->thread_id, 0, 100));
  EXPECT_TRUE(json::write(*log).contains(R"("reasoning":"the plan")"));
}

TEST_F(DialectsTest, AClientsToolMayBeCalledInText) {
  parts_.tool_calling = ToolCalling::kPrompted;
  write("<tool_call>{\"name\":\"theirs\",\"arguments\":{\"x\":1}}</tool_call>", 7);
  const auto accepted =
      run(engine().send({.scope = kScope,
                         .channel = "test",
                         .content = "go",
                         .permissions = {"*"},
                         .client_tools = {{"theirs", "T", json::Value::object({{"type", "object"}})}}}));
  ASSERT_TRUE(accepted) << accepted.error().message;
  const TurnOutcome waiting = outcome(*accepted);
  ASSERT_EQ(waiting.client_calls.size(), 1u);
  EXPECT_EQ(waiting.client_calls[0].arguments, R"({"x":1})");
  EXPECT_TRUE(waiting.client_calls[0].id.starts_with("call_"));
  EXPECT_TRUE(provider_.requests[0].messages[0].content.contains("**theirs**"));
}

}  // namespace
}  // namespace chela::agent
