#include <algorithm>

#include "api/key_models.h"
#include "api/openai_chat.h"
#include "api/openai_commands.h"
#include "api/openai_errors.h"
#include "api/openai_parameters.h"
#include "api/views.h"
#include "base/strings.h"
#include "obs/log.h"
#include "runtime/task_group.h"

namespace chela::api {
namespace {

using json::Value;
using llm::Message;
using llm::Role;

constexpr std::string_view kChannel = "v1";

// A client's messages, seen as an agent's thread sees them.
struct Conversation {
  std::string system;                  // all system texts
  std::vector<Message> before = {};    // up to the last user message
  std::vector<Message> answered = {};  // up to the last answer
  std::vector<Message> results = {};   // tool messages after the last answer
  std::vector<std::string> said = {};  // user messages after the last answer
};

Result<Conversation> split(const std::vector<Message>& messages) {
  Conversation out;
  std::vector<Message> rest;
  for (const Message& each : messages) {
    if (each.role != Role::kSystem) {
      rest.push_back(each);
    } else if (!each.content.empty()) {
      out.system += (out.system.empty() ? "" : "\n\n") + each.content;
    }
  }
  rest = without_commands(std::move(rest));
  size_t tail = rest.size();
  while (tail > 0 && rest[tail - 1].role != Role::kAssistant) --tail;
  if (tail == rest.size()) return bad_param("messages", "the last message must be the user's or a tool's");
  size_t last_user = rest.size();
  for (size_t i = tail; i < rest.size(); ++i) {
    if (rest[i].role == Role::kTool) {
      out.results.push_back(rest[i]);
    } else {
      out.said.push_back(rest[i].content);
      last_user = i;
    }
  }
  out.answered.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(tail));
  out.before.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(last_user));
  return out;
}

// Forwards the text of one turn while it is written.
class LiveText {
 public:
  explicit LiveText(AnswerWriter& writer) : writer_(writer) {}

  void take(const agent::Event& event, const std::string& turn) {
    if (lost_ || event.data.string_or("turn_id") != turn) return;
    if (event.type == "stream_chunk") {
      const std::string text = event.data.string_or("content");
      if (between_ && !sent_.empty()) send("\n\n");
      between_ = false;
      send(text);
    } else if (event.type == "usage") {
      between_ = true;  // a model call has ended; the next one's text is a new paragraph
    } else if (event.type == "stream_reset") {
      lost_ = true;  // finish() sends what is missing
    }
  }

  // What of the whole text has not been sent.
  void finish(const std::string& whole) {
    if (whole.starts_with(sent_)) {
      send(std::string_view(whole).substr(sent_.size()));
    } else if (!sent_.ends_with(whole)) {
      send("\n\n");
      send(whole);
    }
  }

 private:
  void send(std::string_view text) {
    writer_.text(text);
    sent_ += text;
  }

  AnswerWriter& writer_;
  std::string sent_;
  bool between_ = false;
  bool lost_ = false;
};

Task<> pump(agent::Subscription& events, LiveText& text, std::string turn, std::stop_token stop) {
  while (const std::optional<agent::Event> event = co_await events.next(stop)) text.take(*event, turn);
  while (const std::optional<agent::Event> event = events.try_next()) text.take(*event, turn);
}

// One call of an agent by a /v1 client.
class AgentCall {
 public:
  AgentCall(const Services& services, op::CallContext context, ChatRequest request,
            const AnswerFormat& format)
      : services_(services),
        format_(format),
        context_(std::move(context)),
        request_(std::move(request)),
        scope_(context_.scope) {}

  Task<Result<Value>> run(op::EventSink& sink) {
    scope_.agent = *agent_of_model(request_.request.model);
    const std::vector<agent::AgentInfo> agents = services_.engine->agents();
    const bool known = std::any_of(agents.begin(), agents.end(), [this](const agent::AgentInfo& each) {
      return each.name == scope_.agent;
    });
    if (!scope_.agent.empty() && !known) {
      co_return no_such_model(request_.request.model);
    }
    if (Result<> ok = check_for_agent(request_.request); !ok) co_return fail(ok.error());
    Result<Conversation> conversation = split(request_.request.messages);
    if (!conversation) co_return fail(conversation.error());
    conversation_ = std::move(*conversation);
    const Result<agent::Accepted> accepted = co_await enter();
    if (!accepted) co_return fail(accepted.error());
    context_.set_reply_header("X-Chela-Thread", accepted->thread_id);
    if (request_.stream) co_return co_await answer_in_chunks(*accepted, sink);
    co_return co_await answer_whole(*accepted);
  }

 private:
  // Results find their turn, messages their thread: the one that is named, the one that the sent conversation continues, or a new one.
  Task<Result<agent::Accepted>> enter() {
    thread_ = context_.header("x-chela-thread");
    if (thread_.empty()) thread_ = request_.thread_id;
    const bool named = !thread_.empty();
    if (!conversation_.results.empty()) {
      Result<agent::Accepted> resumed = co_await bring_results();
      resumed_ = resumed.has_value();
      const bool of_others = !resumed && resumed.error().code == Code::kNotFound;
      if (named || conversation_.said.empty() || !of_others) co_return resumed;
      // Results of another model's calls: a part of the history like any other.
      thread_.clear();
    }
    // A thread that is named is told everything since the last answer.
    if (named) co_return co_await hand_over(message(strings::join(conversation_.said, "\n\n")));
    co_return co_await go_on_or_begin();
  }

  // Call ids need not be unique among threads: the conversation that ends with the calls is asked first.
  Task<Result<agent::Accepted>> bring_results() {
    if (thread_.empty()) {
      const Result<std::optional<std::string>> found =
          co_await services_.engine->find_transcript(scope_, conversation_.answered);
      if (!found) co_return fail(found.error());
      thread_ = found->value_or("");
    }
    agent::Inbound inbound = message(strings::join(conversation_.said, "\n\n"));
    inbound.client_results = conversation_.results;
    co_return co_await hand_over(std::move(inbound));
  }

  // Earlier messages are what a thread is found by, or the history of a new one. Of two clients that continue one conversation in the same
  // way, the later one gets a thread of its own.
  Task<Result<agent::Accepted>> go_on_or_begin() {
    if (!conversation_.before.empty()) {
      const Result<std::optional<std::string>> found =
          co_await services_.engine->find_transcript(scope_, conversation_.before);
      if (!found) co_return fail(found.error());
      thread_ = found->value_or("");
    }
    if (!thread_.empty()) {
      agent::Inbound inbound = message(conversation_.said.back());
      inbound.continues = conversation_.before;
      Result<agent::Accepted> accepted = co_await hand_over(std::move(inbound));
      if (accepted || accepted.error().detail("reason") != agent::kMovedOn) co_return accepted;
    }
    Result<agent::ThreadDraft> draft = services_.engine->draft_thread(scope_, std::string(kChannel));
    if (!draft) co_return fail(draft.error());
    draft_ = std::move(*draft);
    thread_ = draft_.id;
    agent::Inbound inbound = message(conversation_.said.back());
    inbound.history = std::move(conversation_.before);
    co_return co_await hand_over(std::move(inbound));
  }

  agent::Inbound message(std::string content) const {
    const llm::Request& request = request_.request;
    return {.scope = scope_,
            .channel = std::string(kChannel),
            .thread_id = thread_,
            .content = std::move(content),
            .idempotency_key = std::string(context_.header("idempotency-key")),
            .permissions = context_.principal.permissions,
            .client_key = context_.principal.token_id,
            .client_tools = request.tools,
            .client_system = conversation_.system,
            .sampling = request.sampling,
            .tool_choice = request.tool_choice,
            .tool_choice_name = request.tool_choice_name,
            .reach = agent::Inbound::Reach::kThreadsOfAgent};
  }

  Task<Result<agent::Accepted>> hand_over(agent::Inbound inbound) {
    if (Result<> may = check_agent(services_, context_.principal, scope_.agent, inbound.content); !may)
      co_return fail(std::move(may.error()));
    if (request_.stream) co_await subscribe();
    co_return co_await services_.engine->send(std::move(inbound));
  }

  // Before the message is handed over, so that no text is missed. Without a free place the text comes in one piece at the end.
  Task<> subscribe() {
    Result<std::unique_ptr<agent::Subscription>> events =
        co_await services_.engine->subscribe(scope_, thread_, "");
    if (events) {
      events_ = std::move(*events);
    } else {
      log::debug("api", "a stream without live text", {{"error", events.error().text()}});
    }
  }

  bool waits_for_people() const { return strings::iequals(context_.header("x-chela-approvals"), "wait"); }

  // A client that hangs up has lost interest: the turn it started ends. One that gave a key may come for the answer with another request.
  Task<Result<agent::TurnOutcome>> wait(agent::Accepted accepted) {
    // A slash command has no turn to wait for.
    if (accepted.reply) {
      co_return agent::TurnOutcome{
          .state = agent::TurnState::kCompleted, .reply = *accepted.reply, .visible = *accepted.reply};
    }
    const bool through = waits_for_people();
    agent::Engine& engine = *services_.engine;
    Task<Result<agent::TurnOutcome>> waiting =
        through ? engine.wait_through_approvals(scope_, accepted.turn_id, context_.stop)
                : engine.wait(scope_, accepted.turn_id, context_.stop);
    Result<agent::TurnOutcome> outcome = co_await std::move(waiting);
    const bool may_return = !context_.header("idempotency-key").empty();
    if (!outcome && context_.stop.stop_requested() && !may_return && (resumed_ || !accepted.joined)) {
      const Result<> ended =
          co_await services_.engine->interrupt(scope_, accepted.thread_id, accepted.turn_id);
      if (!ended)
        log::debug("api", "the turn of a client that left had ended", {{"error", ended.error().text()}});
    }
    if (outcome && outcome->state == agent::TurnState::kFailed && outcome->error)
      co_return fail(upstream_error(*outcome->error));
    if (outcome && outcome->state == agent::TurnState::kInterrupted)
      co_return fail(Code::kCancelled, "the turn was interrupted");
    co_return outcome;
  }

  static AnswerEnd end_of(const agent::TurnOutcome& outcome) {
    AnswerEnd end{.reason = outcome.finish_reason, .usage = outcome.usage};
    if (outcome.state == agent::TurnState::kAwaitingClient) end.reason = llm::FinishReason::kToolCalls;
    if (outcome.state == agent::TurnState::kAwaitingApproval ||
        outcome.state == agent::TurnState::kAwaitingAuth)
      end.reason = llm::FinishReason::kStop;
    if (outcome.approval) end.approval = approval_view(*outcome.approval);
    return end;
  }

  AnswerHead head_of(const agent::Accepted& accepted) const {
    AnswerHead head = new_head(services_, request_.request.model);
    head.thread = accepted.thread_id;
    return head;
  }

  Task<Result<Value>> answer_whole(agent::Accepted accepted) {
    const AnswerHead head = head_of(accepted);
    const Result<agent::TurnOutcome> outcome = co_await wait(std::move(accepted));
    if (!outcome) co_return fail(outcome.error());
    co_return format_.whole(
        head, {.text = outcome->visible, .calls = outcome->client_calls, .end = end_of(*outcome)});
  }

  Task<Result<Value>> answer_in_chunks(agent::Accepted accepted, op::EventSink& sink) {
    const std::unique_ptr<AnswerWriter> writer = format_.writer(sink, head_of(accepted));
    // A person may take long: the stream begins now, so that its signs of life keep the connection open.
    if (waits_for_people()) {
      if (Result<> opened = sink.open(); !opened) co_return fail(opened.error());
    }
    LiveText text(*writer);
    runtime::TaskGroup pumping(*services_.loop);
    if (events_) pumping.spawn(pump(*events_, text, accepted.turn_id, pumping.stop_token()));
    const Result<agent::TurnOutcome> outcome = co_await wait(std::move(accepted));
    pumping.stop();
    co_await pumping.join();
    if (!writer->state()) co_return fail(writer->state().error());
    if (!outcome) co_return fail(outcome.error());
    text.finish(outcome->visible);
    writer->tool_calls(outcome->client_calls);
    writer->finish(end_of(*outcome));
    if (!writer->state()) co_return fail(writer->state().error());
    co_return Value();
  }

  const Services& services_;
  const AnswerFormat& format_;
  op::CallContext context_;
  ChatRequest request_;
  Scope scope_;
  Conversation conversation_ = {};
  std::string thread_ = {};  // "" while only the engine knows it
  agent::ThreadDraft draft_ = {};
  bool resumed_ = false;  // it has brought the results that a turn waited for
  std::unique_ptr<agent::Subscription> events_ = {};
};

}  // namespace

Task<Result<Value>> agent_chat(const Services& services, op::CallContext context, ChatRequest request,
                               const AnswerFormat& format, op::EventSink& sink) {
  AgentCall call(services, std::move(context), std::move(request), format);
  co_return co_await call.run(sink);
}

}  // namespace chela::api
