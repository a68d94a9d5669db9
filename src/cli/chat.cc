#include "cli/chat.h"

#include <algorithm>

#include "base/error.h"
#include "base/strings.h"
#include "cli/thread_list.h"
#include "runtime/sleep.h"

namespace chela::cli {
namespace {

using json::Value;

constexpr size_t kQueue = 256;
constexpr auto kCallGrace = std::chrono::seconds(1);
constexpr size_t kPastTurns = 3;  // shown of a thread that goes on
constexpr std::string_view kChannel = "cli";
constexpr std::string_view kLatest = "latest";

// What only the terminal can do; every other command is the engine's.
bool leaves(std::string_view line) {
  const std::string word = strings::lower(strings::trim(line));
  return word == "/quit" || word == "/exit" || word == "/shutdown";
}

bool is_object(const Value* value) { return value != nullptr && value->is_object(); }

}  // namespace

Chat::Chat(runtime::EventLoop& loop, Client& client, Lines& lines, ChatView& view, ChatOptions options)
    : loop_(loop),
      client_(client),
      lines_(lines),
      view_(view),
      options_(std::move(options)),
      happenings_(loop, kQueue),
      readers_(loop),
      thread_(options_.thread) {}

Task<int> Chat::run() {
  if (const Result<> begun = co_await begin(); !begun) {
    report(begun.error());
    co_return co_await finish();
  }
  const bool reads = !options_.message || options_.input == ChatOptions::Input::kTerminal;
  if (reads) readers_.spawn(read_lines());
  if (options_.message) {
    co_await say(*options_.message);
  } else {
    expect_next();
  }
  while (!done()) {
    std::optional<Happening> next = co_await happenings_.receive({});
    if (!next) break;
    co_await handle(std::move(*next));
  }
  co_return co_await finish();
}

Task<int> Chat::finish() {
  view_.close();
  readers_.stop();
  happenings_.close();
  co_await readers_.join();
  co_return exit_code_;
}

// The events first: what the past says is true from then on.
Task<Result<>> Chat::begin() {
  Result<std::unique_ptr<EventReader>> reader = co_await subscribe_first();
  if (!reader) co_return fail(reader.error());
  readers_.spawn(watch(std::move(*reader)));
  if (thread_ == kLatest) {
    if (Result<> found = co_await find_latest(); !found) co_return found;
  }
  if (dialogue() && !thread_.empty()) co_return co_await show_past();
  co_return Result<>{};
}

bool Chat::done() const {
  if (leaving_) return true;
  const bool idle = waiting_.empty();
  if (!turns_.empty()) return input_ended_ && asking_.has_value() && idle;
  return options_.message.has_value() || (input_ended_ && idle);
}

void Chat::interrupt() {
  hurry();
  readers_.spawn(tell({.kind = Happening::Kind::kInterrupt}));
}

void Chat::leave() {
  hurry();
  readers_.spawn(tell({.kind = Happening::Kind::kLeave}));
}

// What is queued waits for the call under way, and an engine that hangs never answers it: from the first Ctrl-C on it has a little time
// left, from the next one on none.
void Chat::hurry() {
  if (!call_.stop_possible()) return;
  if (interrupting_ || std::exchange(hurried_, true))
    call_.request_stop();
  else
    readers_.spawn(give_up(call_));
}

Task<> Chat::give_up(std::stop_source call) {
  (void)co_await runtime::sleep_for(loop_, kCallGrace, readers_.stop_token());
  call.request_stop();
}

std::stop_token Chat::begin_call() {
  hurried_ = false;
  call_ = std::stop_source();
  return call_.get_token();
}

Error Chat::end_call(Error error) {
  const bool given_up = call_.stop_requested();
  call_ = std::stop_source(std::nostopstate);
  if (!given_up) return error;
  return {.code = Code::kCancelled,
          .message = "the engine did not answer; what was asked of it may still happen"};
}

Task<Result<Value>> Chat::call(std::string operation, Value args) {
  Result<Value> done = co_await client_.call(std::move(operation), std::move(args), begin_call());
  Error error = end_call(done ? Error{} : done.error());
  if (!done) co_return fail(std::move(error));
  co_return done;
}

// Waits until there is room: none of these may be lost behind many events.
Task<> Chat::tell(Happening happening) {
  (void)co_await happenings_.send(std::move(happening), readers_.stop_token());
}

// --- What comes in

Task<> Chat::read_lines() {
  const std::stop_token stop = readers_.stop_token();
  while (true) {
    Result<std::optional<std::string>> line = co_await lines_.next(stop);
    if (!line || !*line) break;
    const Result<> sent =
        co_await happenings_.send({.kind = Happening::Kind::kLine, .text = std::move(**line)}, stop);
    if (!sent) co_return;
  }
  co_await tell({.kind = Happening::Kind::kEndOfInput});
}

// Of all threads: which one the message goes to is known only when it is sent.
Task<Result<std::unique_ptr<EventReader>>> Chat::subscribe() {
  Value args = Value::object();
  if (!last_event_.empty()) args.set("last_event_id", last_event_);
  co_return co_await client_.open("chat::events", std::move(args), readers_.stop_token());
}

Task<Result<std::unique_ptr<EventReader>>> Chat::subscribe_first() {
  const std::stop_callback given_up(begin_call(), [this] { readers_.stop(); });
  Result<std::unique_ptr<EventReader>> reader = co_await subscribe();
  Error error = end_call(reader ? Error{} : reader.error());
  if (!reader) co_return fail(std::move(error));
  co_return reader;
}

// The engine may have been started again, or have cut us off for being slow.
Task<> Chat::watch(std::unique_ptr<EventReader> reader) {
  const std::stop_token stop = readers_.stop_token();
  while (reader) {
    co_await read_events(std::move(reader));
    if (stop.stop_requested()) co_return;
    reader = co_await reconnect();
  }
  co_await tell({.kind = Happening::Kind::kLost});
}

Task<> Chat::read_events(std::unique_ptr<EventReader> reader) {
  const std::stop_token stop = readers_.stop_token();
  while (true) {
    Result<std::optional<op::Event>> event = co_await reader->next(stop);
    if (!event || !*event) co_return;
    if (!(*event)->id.empty()) last_event_ = (*event)->id;
    const Result<> sent =
        co_await happenings_.send({.kind = Happening::Kind::kEvent, .event = std::move(**event)}, stop);
    if (!sent) co_return;
  }
}

// Nothing when it cannot be had any more.
Task<std::unique_ptr<EventReader>> Chat::reconnect() {
  const std::stop_token stop = readers_.stop_token();
  std::chrono::milliseconds pause = kReconnectBase;
  for (int attempt = 1; attempt <= kMaxReconnects; ++attempt) {
    Result<std::unique_ptr<EventReader>> reader = co_await subscribe();
    if (reader) {
      if (attempt > 1)
        happenings_.try_send({.kind = Happening::Kind::kConnection, .text = "Connected again."});
      co_return std::move(*reader);
    }
    if (attempt == 1)
      happenings_.try_send({.kind = Happening::Kind::kConnection,
                            .text = "The connection to the engine broke; trying again."});
    if (const Result<> slept = co_await runtime::sleep_for(loop_, pause, stop); !slept) break;
    pause = std::min<std::chrono::milliseconds>(2 * pause, kReconnectCeiling);
  }
  co_return nullptr;
}

Task<> Chat::handle(Happening happening) {
  switch (happening.kind) {
    case Happening::Kind::kLine:
      waiting_.push_back(std::move(happening.text));
      break;
    case Happening::Kind::kEndOfInput:
      input_ended_ = true;
      if (dialogue()) leaving_ = true;
      if (dialogue()) exit_code_ = 0;
      break;
    case Happening::Kind::kEvent:
      on_event(std::move(happening.event));
      break;
    case Happening::Kind::kConnection:
      if (dialogue()) view_.note(happening.text);
      break;
    case Happening::Kind::kLost:
      report(Error{.code = Code::kUnavailable,
                   .message = fmt::format("the engine has stopped; start it again and go on with --thread {}",
                                          thread_.empty() ? kLatest : thread_)});
      leaving_ = true;
      break;
    case Happening::Kind::kInterrupt:
      co_await on_interrupt();
      break;
    case Happening::Kind::kLeave:
      leaving_ = true;
      if (options_.message) exit_code_ = exit_code(Code::kCancelled);
      break;
  }
  // A queue's next line waits until it is its turn.
  while (!waiting_.empty() && !leaving_ && (dialogue() || turns_.empty() || asking_ || credential_)) {
    std::string line = std::move(waiting_.front());
    waiting_.pop_front();
    co_await on_line(std::move(line));
  }
}

// --- What goes out

Task<> Chat::on_line(std::string line) {
  view_.entered();
  if (credential_) {
    co_await give_credential(std::move(line));
  } else if (asking_ && !line.starts_with('/')) {
    co_await answer(std::move(line));
  } else if (strings::trim(line).empty()) {
    expect_next();
  } else if (leaves(line)) {
    leaving_ = true;
  } else {
    co_await say(std::move(line));
  }
}

// A command's answer comes at once and without a turn; /new and /thread answer with another thread.
Task<> Chat::say(std::string text) {
  Value args = Value::object({{"content", std::move(text)}, {"channel", kChannel}});
  if (!thread_.empty()) args.set("thread_id", thread_);
  if (!options_.agent.empty()) args.set("agent", options_.agent);
  const Result<Value> accepted = co_await call("chat::send", std::move(args));
  if (!accepted) {
    report(accepted.error());
    expect_next();
    co_return;
  }
  const std::string thread = accepted->string_or("thread_id");
  const std::string turn = accepted->string_or("turn_id");
  const std::string reply = accepted->string_or("reply");
  if (!reply.empty())
    view_.told(reply);
  else if (turn.empty() && thread != thread_)
    view_.note("thread " + thread);
  if (!thread.empty()) thread_ = thread;
  if (!turn.empty()) turns_.insert(turn);
  if (!turn.empty() && !dialogue()) co_await ask_what_waits();
  expect_next();
}

// A message that joins a turn which waits for an answer waits with it, and what was asked before is not said again by any event.
Task<> Chat::ask_what_waits() {
  const Result<Value> past =
      co_await call("chat::history", Value::object({{"thread_id", thread_}, {"limit", 1}}));
  const Value* pending = past ? past->find("pending_approval") : nullptr;
  if (!is_object(pending) || asking_) co_return;
  view_.note("chela: the message waits until this is answered:");
  Value event = *pending;
  event.set("type", "approval_needed");
  view_.show("approval_needed", event);
  ask(event);
}

Task<> Chat::answer(std::string line) {
  const std::string word = strings::lower(strings::trim(line));
  std::string action;
  if (word == "y" || word == "yes") action = "approve";
  if (word == "a" || word == "always") action = "always";
  if (word == "n" || word == "no") action = "deny";
  if (word == "v" || word == "view") {
    view_.show("approval_whole", asked_about_);
    view_.expect(ChatView::Expected::kApproval);
    co_return;
  }
  if (action.empty()) {
    view_.expect(ChatView::Expected::kPlainAnswer);
    co_return;
  }
  const std::string request = *std::exchange(asking_, std::nullopt);
  expect_next();
  const Result<Value> done =
      co_await call("chat::approval", Value::object({{"request_id", request}, {"action", action}}));
  if (!done) report(done.error());
}

// An empty line is a no.
Task<> Chat::give_credential(std::string value) {
  Value args = Value::object({{"extension_name", *std::exchange(credential_, std::nullopt)}});
  expect_next();
  const bool given = !strings::trim(value).empty();
  if (given) args.set("token", std::string(strings::trim(value)));
  const Result<Value> done = co_await call(given ? "chat::auth_token" : "chat::auth_cancel", std::move(args));
  if (!done) report(done.error());
}

Task<> Chat::on_interrupt() {
  if (turns_.empty() || interrupting_) {
    leaving_ = true;
    if (!dialogue() || !turns_.empty()) exit_code_ = exit_code(Code::kCancelled);
    co_return;
  }
  interrupting_ = true;
  const Result<Value> done = co_await call("chat::interrupt", Value::object({{"thread_id", thread_}}));
  if (!done && done.error().code != Code::kConflict) report(done.error());
}

// --- What happens

// The thread that was used last, whatever channel it is of. The pinned one is there before anybody has used it.
Task<Result<>> Chat::find_latest() {
  const Result<Value> found = co_await call("thread::list", Value::object({{"limit", 1}}));
  if (!found) co_return fail(found.error());
  for (const Value& each : threads_of(*found)) {
    if (each.string_or("thread_type") == "assistant" && each.int_or("turn_count", 0) == 0) continue;
    thread_ = each.string_or("id");
    co_return Result<>{};
  }
  co_return fail(Code::kNotFound, "there is no thread yet; leave out --thread latest to begin one");
}

// Where a thread that goes on stands: its last turns, and what it waits for.
Task<Result<>> Chat::show_past() {
  const Result<Value> past =
      co_await call("chat::history", Value::object({{"thread_id", thread_}, {"limit", kPastTurns}}));
  if (!past) co_return fail(past.error());
  if (const Value* turns = past->find("turns"); turns && turns->is_array()) {
    for (const Value& each : *turns->as_array()) {
      view_.show("past_turn", each);
      const std::string state = each.string_or("state");
      if (const std::string id = each.string_or("id");
          !id.empty() && (state == "processing" || state == "awaiting_approval"))
        turns_.insert(id);
    }
  }
  if (const Value* pending = past->find("pending_approval"); is_object(pending)) {
    view_.show("approval_needed", *pending);
    ask(*pending);
  }
  if (const Value* pending = past->find("pending_auth"); is_object(pending)) {
    view_.show("auth_required", *pending);
    ask_credential(*pending);
  }
  co_return Result<>{};
}

// Of a dialogue's thread everything is shown, also what was asked from elsewhere.
bool Chat::ours(const Value& data) const {
  if (turns_.contains(data.string_or("turn_id"))) return true;
  return dialogue() && !thread_.empty() && data.string_or("thread_id") == thread_;
}

void Chat::on_event(op::Event event) {
  const Result<Value> data = json::parse(event.data);
  if (!data || !ours(*data)) return;
  // The answer to a command came with its acceptance.
  if (data->bool_or("command", false)) return;
  const std::string type = data->string_or("type");
  if (type == "approval_needed" && asking_ == data->string_or("request_id")) return;
  view_.show(type, *data);
  on_turn_event(*data, type);
}

void Chat::on_turn_event(const Value& data, const std::string& type) {
  if (type == "turn_started") turns_.insert(data.string_or("turn_id"));
  if (type == "approval_needed") ask(data);
  if (type == "approval_resolved" && asking_ == data.string_or("request_id")) {
    asking_.reset();
    expect_next();
  }
  if (type == "auth_required") ask_credential(data);
  if (type == "auth_completed" && credential_ == data.string_or("extension_name")) {
    credential_.reset();
    expect_next();
  }
  if (type == "turn_finished") on_finished(data);
}

void Chat::on_finished(const Value& data) {
  turns_.erase(data.string_or("turn_id"));
  asking_.reset();
  credential_.reset();
  const std::string state = data.string_or("state");
  exit_code_ = 0;
  if (state == "interrupted") exit_code_ = exit_code(Code::kCancelled);
  if (state == "failed") {
    const Value* error = data.find("error");
    exit_code_ = exit_code(code_from_name(error ? error->string_or("code") : "").value_or(Code::kInternal));
  }
  if (dialogue()) exit_code_ = 0;
  interrupting_ = false;
  expect_next();
}

void Chat::ask(const Value& data) {
  exit_code_ = exit_code(Code::kApprovalPending);  // if the input ends here
  if (options_.message && options_.input == ChatOptions::Input::kPipe) {
    // Nobody is there to answer: the request stays, to be answered by the next message or by another client.
    view_.note(fmt::format(
        "chela: approval is pending; answer with `chela run --thread {} -m yes` (or always, no)", thread_));
    leaving_ = true;
    return;
  }
  asking_ = data.string_or("request_id");
  asked_about_ = data;
  view_.expect(ChatView::Expected::kApproval);
}

void Chat::ask_credential(const Value& data) {
  if (options_.secrets == ChatOptions::Secrets::kElsewhere) {
    view_.note("It cannot be typed here unseen: answer on the web page, or with `chela chat` on a terminal.");
    if (!dialogue()) {
      // Nobody is there to answer. The request stays, as an approval's does.
      exit_code_ = exit_code(Code::kApprovalPending);
      leaving_ = true;
    }
    return;
  }
  credential_ = data.string_or("extension_name");
  view_.expect(ChatView::Expected::kSecret);
}

void Chat::report(const Error& error) {
  view_.failure(error);
  exit_code_ = exit_code(error.code);
}

void Chat::expect_next() {
  using Expected = ChatView::Expected;
  if (leaving_) return;
  view_.expect(credential_      ? Expected::kSecret
               : asking_        ? Expected::kApproval
               : turns_.empty() ? Expected::kMessage
                                : Expected::kNothing);
}

}  // namespace chela::cli
