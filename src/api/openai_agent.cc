#include <algorithm>

#include "api/openai_chat.h"
#include "api/openai_errors.h"
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
  explicit LiveText(ChunkWriter& writer) : writer_(writer) {}

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

  ChunkWriter& writer_;
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
  AgentCall(const Services& services, op::CallContext context, ChatRequest request)
      : services_(services),
        context_(std::move(context)),
        request_(std::move(request)),
        scope_(context_.scope) {}

  Task<Result<Value>> run(op::EventSink& sink) {
    scope_.agent = *agent_of_model(request_.request.model);
    const std::vector<std::string> agents = services_.engine->agents();
    if (!scope_.agent.empty() && std::find(agents.begin(), agents.end(), scope_.agent) == agents.end()) {
      co_return no_such_model(request_.request.model);
    }
    Result<Conversation> conversation = split(request_.request.messages);
    if (!conversation) co_return fail(conversation.error());
    conversation_ = std::move(*conversation);
    if (Result<> chosen = co_await choose_thread(); !chosen) co_return fail(chosen.error());
    if (request_.stream) co_await subscribe();
    const Result<agent::Accepted> accepted = co_await hand_over();
    if (!accepted) co_return fail(accepted.error());
    context_.set_reply_header("X-Chela-Thread", accepted->thread_id);
    if (request_.stream) co_return co_await answer_in_chunks(*accepted, sink);
    co_return co_await answer_whole(*accepted);
  }

 private:
  // The thread named, or the one that the sent conversation continues, or a new one. Tool results find their turn by call id.
  Task<Result<>> choose_thread() {
    thread_ = context_.header("x-chela-thread");
    if (thread_.empty()) thread_ = request_.thread_id;
    named_ = !thread_.empty();
    if (named_) co_return Result<>{};
    // Call ids need not be unique among threads: the conversation that ends with the calls is asked first.
    if (!conversation_.results.empty()) {
      const Result<std::optional<std::string>> found =
          co_await services_.engine->find_transcript(scope_, conversation_.answered);
      if (!found) co_return fail(found.error());
      thread_ = found->value_or("");
    }
    if (conversation_.said.empty()) co_return Result<>{};
    if (!conversation_.results.empty()) {
      const Result<agent::Accepted> taken = co_await services_.engine->submit_client_results(
          scope_, conversation_.results, std::exchange(thread_, ""));
      if (taken) {
        thread_ = taken->thread_id;
        named_ = true;
        resumed_ = true;
        conversation_.results.clear();
        co_return Result<>{};
      }
      if (taken.error().code != Code::kNotFound) co_return fail(taken.error());
      conversation_.results
          .clear();  // results of another model's calls: a part of the history like any other
    }
    if (!conversation_.before.empty()) {
      const Result<std::optional<std::string>> found =
          co_await services_.engine->find_transcript(scope_, conversation_.before);
      if (!found) co_return fail(found.error());
      if (*found) {
        thread_ = **found;
        co_return Result<>{};
      }
    }
    const Result<agent::ThreadInfo> made =
        co_await services_.engine->create_thread(scope_, std::string(kChannel), "");
    if (!made) co_return fail(made.error());
    thread_ = made->id;
    fresh_ = true;
    co_return Result<>{};
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

  Task<Result<agent::Accepted>> hand_over() {
    std::optional<agent::Accepted> resumed;
    if (!conversation_.results.empty()) {
      const Result<agent::Accepted> taken =
          co_await services_.engine->submit_client_results(scope_, conversation_.results, thread_);
      if (!taken) co_return fail(taken.error());
      resumed = *taken;
      resumed_ = true;
    }
    if (conversation_.said.empty()) co_return *resumed;
    agent::Inbound inbound{
        .scope = scope_, .channel = std::string(kChannel), .thread_id = thread_, .content = {}};
    // A thread that was named is told everything since the last answer; otherwise earlier messages are what it was found by, or its history.
    inbound.content = named_ ? strings::join(conversation_.said, "\n\n") : conversation_.said.back();
    if (fresh_) inbound.history = std::move(conversation_.before);
    inbound.idempotency_key = std::string(context_.header("idempotency-key"));
    if (request_.request.tool_choice != llm::ToolChoice::kNone)
      inbound.client_tools = std::move(request_.request.tools);
    inbound.client_system = std::move(conversation_.system);
    inbound.temperature = request_.request.temperature;
    inbound.max_tokens = request_.request.max_tokens;
    co_return co_await services_.engine->send(std::move(inbound));
  }

  bool waits_for_people() const { return strings::iequals(context_.header("x-chela-approvals"), "wait"); }

  // A client that hangs up has lost interest: the turn it started ends.
  Task<Result<agent::TurnOutcome>> wait(agent::Accepted accepted) {
    const bool through = waits_for_people();
    agent::Engine& engine = *services_.engine;
    Task<Result<agent::TurnOutcome>> waiting =
        through ? engine.wait_through_approvals(scope_, accepted.turn_id, context_.stop)
                : engine.wait(scope_, accepted.turn_id, context_.stop);
    Result<agent::TurnOutcome> outcome = co_await std::move(waiting);
    if (!outcome && context_.stop.stop_requested() && (resumed_ || !accepted.joined)) {
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
    if (outcome.state == agent::TurnState::kAwaitingApproval) end.reason = llm::FinishReason::kStop;
    if (outcome.approval) end.approval = approval_view(*outcome.approval);
    return end;
  }

  Task<Result<Value>> answer_whole(agent::Accepted accepted) {
    const Result<agent::TurnOutcome> outcome = co_await wait(std::move(accepted));
    if (!outcome) co_return fail(outcome.error());
    co_return completion(new_head(services_, request_.request.model), outcome->visible, "",
                         outcome->client_calls, end_of(*outcome));
  }

  Task<Result<Value>> answer_in_chunks(agent::Accepted accepted, op::EventSink& sink) {
    using Usage = ChunkWriter::Usage;
    ChunkWriter writer(sink, new_head(services_, request_.request.model),
                       request_.include_usage ? Usage::kInclude : Usage::kLeaveOut);
    // A person may take long: the stream begins now, so that its signs of life keep the connection open.
    if (waits_for_people()) {
      if (Result<> opened = sink.open(); !opened) co_return fail(opened.error());
    }
    LiveText text(writer);
    runtime::TaskGroup pumping(*services_.loop);
    if (events_) pumping.spawn(pump(*events_, text, accepted.turn_id, pumping.stop_token()));
    const Result<agent::TurnOutcome> outcome = co_await wait(std::move(accepted));
    pumping.stop();
    co_await pumping.join();
    if (!writer.state()) co_return fail(writer.state().error());
    if (!outcome) co_return fail(outcome.error());
    text.finish(outcome->visible);
    writer.tool_calls(outcome->client_calls);
    writer.finish(end_of(*outcome));
    if (!writer.state()) co_return fail(writer.state().error());
    co_return Value();
  }

  const Services& services_;
  op::CallContext context_;
  ChatRequest request_;
  Scope scope_;
  Conversation conversation_ = {};
  std::string thread_ = {};  // "" while only the engine knows it
  bool named_ = false;       // by the client: with its id, or with the call that it answers
  bool fresh_ = false;       // made for this call
  bool resumed_ = false;     // it has brought the results that a turn waited for
  std::unique_ptr<agent::Subscription> events_ = {};
};

}  // namespace

Task<Result<Value>> agent_chat(const Services& services, op::CallContext context, ChatRequest request,
                               op::EventSink& sink) {
  AgentCall call(services, std::move(context), std::move(request));
  co_return co_await call.run(sink);
}

}  // namespace chela::api
