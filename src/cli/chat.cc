#include "cli/chat.h"

#include "base/error.h"
#include "base/strings.h"

namespace chela::cli {
namespace {

using json::Value;

constexpr size_t kQueue = 256;
constexpr std::string_view kChannel = "cli";
constexpr std::string_view kHelp =
    "/new            begins a new thread\n"
    "/thread ID      goes on with another thread\n"
    "/stop           ends the running turn (as Ctrl-C does)\n"
    "/quit           leaves (as Ctrl-D does)\n"
    "Everything else goes to the agent. While it works, what you type joins the running turn.";

}  // namespace

Chat::Chat(runtime::EventLoop& loop, Client& client, Lines& lines, const Output& output, ChatOptions options)
    : loop_(loop),
      client_(client),
      lines_(lines),
      output_(output),
      options_(std::move(options)),
      happenings_(loop, kQueue),
      readers_(loop),
      thread_(options_.thread) {}

Task<int> Chat::run() {
  if (const Result<> live = co_await subscribe(); !live) {
    report(live.error());
    co_return exit_code_;
  }
  const bool reads = !options_.message || options_.input == ChatOptions::Input::kTerminal;
  if (reads) readers_.spawn(read_lines());
  if (options_.message) {
    co_await say(*options_.message);
  } else {
    prompt();
  }
  while (!done()) {
    std::optional<Happening> next = co_await happenings_.receive({});
    if (!next) break;
    co_await handle(std::move(*next));
  }
  end_line();
  readers_.stop();
  happenings_.close();
  co_await readers_.join();
  co_return exit_code_;
}

bool Chat::done() const {
  if (leaving_) return true;
  if (!turns_.empty()) return input_ended_ && asking_.has_value() && waiting_.empty();
  return options_.message.has_value() || (input_ended_ && waiting_.empty());
}

void Chat::interrupt() { happenings_.try_send({.kind = Happening::Kind::kInterrupt}); }

void Chat::leave() { happenings_.try_send({.kind = Happening::Kind::kLeave}); }

Task<> Chat::read_lines() {
  const std::stop_token stop = readers_.stop_token();
  while (true) {
    Result<std::optional<std::string>> line = co_await lines_.next(stop);
    if (!line || !*line) break;
    const Result<> sent =
        co_await happenings_.send({.kind = Happening::Kind::kLine, .text = std::move(**line)}, stop);
    if (!sent) co_return;
  }
  happenings_.try_send({.kind = Happening::Kind::kEndOfInput});
}

Task<> Chat::read_events(std::unique_ptr<EventReader> reader) {
  const std::stop_token stop = readers_.stop_token();
  while (true) {
    Result<std::optional<op::Event>> event = co_await reader->next(stop);
    if (!event || !*event) break;
    const Result<> sent =
        co_await happenings_.send({.kind = Happening::Kind::kEvent, .event = std::move(**event)}, stop);
    if (!sent) co_return;
  }
  happenings_.try_send({.kind = Happening::Kind::kStreamEnded});
}

// Of all threads: which one the message goes to is known only when it is sent.
Task<Result<>> Chat::subscribe() {
  Value args = Value::object();
  if (!last_event_.empty()) args.set("last_event_id", last_event_);
  Result<std::unique_ptr<EventReader>> reader =
      co_await client_.open("chat::events", std::move(args), readers_.stop_token());
  if (!reader) co_return fail(reader.error());
  readers_.spawn(read_events(std::move(*reader)));
  co_return Result<>{};
}

Task<> Chat::handle(Happening happening) {
  switch (happening.kind) {
    case Happening::Kind::kLine:
      waiting_.push_back(std::move(happening.text));
      break;
    case Happening::Kind::kEndOfInput:
      input_ended_ = true;
      if (chatting()) {
        leaving_ = true;
        exit_code_ = 0;
      }
      break;
    case Happening::Kind::kEvent:
      co_await on_event(std::move(happening.event));
      break;
    case Happening::Kind::kStreamEnded:
      co_await on_stream_ended();
      break;
    case Happening::Kind::kInterrupt:
      co_await on_interrupt();
      break;
    case Happening::Kind::kLeave:
      leaving_ = true;
      if (options_.message) exit_code_ = exit_code(Code::kCancelled);
      break;
  }
  // A pipe's next line waits until it is its turn.
  while (!waiting_.empty() && !leaving_ && (chatting() || turns_.empty() || asking_)) {
    std::string line = std::move(waiting_.front());
    waiting_.pop_front();
    co_await on_line(std::move(line));
  }
}

Task<> Chat::on_line(std::string line) {
  at_line_start_ = true;
  if (asking_) {
    co_await answer(std::move(line));
  } else if (strings::trim(line).empty()) {
    prompt();
  } else if (!co_await on_command(line)) {
    co_await say(std::move(line));
  }
}

// What the terminal itself understands; everything else is the agent's.
Task<bool> Chat::on_command(const std::string& line) {
  const std::string_view command = strings::trim(line);
  if (command == "/quit" || command == "/exit" || command == "/shutdown") {
    leaving_ = true;
  } else if (command == "/help" || command == "/?") {
    output_.note(kHelp);
    prompt();
  } else if (command == "/stop" || command == "/interrupt") {
    co_await on_interrupt();
  } else if (command == "/new" || command == "/thread new") {
    Value args = Value::object({{"channel", kChannel}});
    if (!options_.agent.empty()) args.set("agent", options_.agent);
    const Result<Value> made = co_await client_.call("thread::create", std::move(args), {});
    if (made) thread_ = made->string_or("id");
    if (made) output_.note("new thread " + thread_);
    if (!made) report(made.error());
    prompt();
  } else if (command.starts_with("/thread ")) {
    thread_ = strings::trim(command.substr(8));
    output_.note("thread " + thread_);
    prompt();
  } else {
    co_return false;
  }
  co_return true;
}

Task<> Chat::say(std::string text) {
  Value args = Value::object({{"content", std::move(text)}, {"channel", kChannel}});
  if (!thread_.empty()) args.set("thread_id", thread_);
  if (!options_.agent.empty()) args.set("agent", options_.agent);
  const Result<Value> accepted = co_await client_.call("chat::send", std::move(args), {});
  if (!accepted) {
    report(accepted.error());
    prompt();
    co_return;
  }
  thread_ = accepted->string_or("thread_id");
  turns_.insert(accepted->string_or("turn_id"));
}

Task<> Chat::answer(std::string line) {
  const std::string word = strings::lower(strings::trim(line));
  std::string action;
  if (word == "y" || word == "yes") action = "approve";
  if (word == "a" || word == "always") action = "always";
  if (word == "n" || word == "no") action = "deny";
  if (action.empty()) {
    output_.err("Please answer y (yes), a (always) or n (no): ");
    co_return;
  }
  const std::string request = *std::exchange(asking_, std::nullopt);
  const Result<Value> done = co_await client_.call(
      "chat::approval", Value::object({{"request_id", request}, {"action", action}}), {});
  if (!done) report(done.error());
}

Task<> Chat::on_event(op::Event event) {
  if (!event.id.empty()) last_event_ = event.id;
  subscribed_once_ = false;
  const Result<Value> data = json::parse(event.data);
  if (!data || !turns_.contains(data->string_or("turn_id"))) co_return;
  const std::string type = data->string_or("type");
  if (!text()) output_.line(event.data);
  show(*data, type);
  if (type == "approval_needed") ask(*data);
  if (type == "approval_resolved" && asking_ == data->string_or("request_id")) asking_.reset();
  if (type == "turn_finished") on_finished(*data);
}

// What a person sees of an event. Of a single message or a pipe only replies are results.
void Chat::show(const Value& data, const std::string& type) {
  if (!text()) return;
  if (type == "response") {
    const std::string content = data.string_or("content");
    if (content != streamed_ || !chatting()) {
      end_line();
      output_.text(content);
    }
    at_line_start_ = false;
    end_line();
  } else if (type == "error") {
    end_line();
    output_.note("chela: " + data.string_or("message"));
  }
  if (!chatting()) return;
  if (type == "stream_chunk") {
    output_.text(data.string_or("content"));
    streamed_ += data.string_or("content");
    at_line_start_ = false;
  } else if (type == "stream_reset") {
    end_line();
    streamed_ = data.string_or("text");
    output_.text(streamed_);
    at_line_start_ = streamed_.empty();
  } else if (type == "tool_started") {
    end_line();
    output_.note("  [" + data.string_or("name") + "]");
    streamed_.clear();
  } else if (type == "tool_completed" && !data.bool_or("success", true)) {
    end_line();
    output_.note("  [" + data.string_or("name") + " failed] " + data.string_or("error"));
  }
}

void Chat::on_finished(const Value& data) {
  turns_.erase(data.string_or("turn_id"));
  asking_.reset();
  streamed_.clear();
  const std::string state = data.string_or("state");
  exit_code_ = 0;
  if (state == "interrupted") exit_code_ = exit_code(Code::kCancelled);
  if (state == "failed") {
    const Value* error = data.find("error");
    exit_code_ = exit_code(code_from_name(error ? error->string_or("code") : "").value_or(Code::kInternal));
  }
  if (chatting()) {
    if (state == "interrupted") output_.note("interrupted");
    exit_code_ = 0;
  }
  interrupting_ = false;
  prompt();
}

void Chat::ask(const Value& data) {
  end_line();
  output_.note(fmt::format("The agent wants to use {}: {}\n{}", data.string_or("tool_name"),
                           data.string_or("description"), data.string_or("parameters")));
  if (options_.message && options_.input == ChatOptions::Input::kPipe) {
    // Nobody is there to answer: the request stays, to be answered by the next message or by another client.
    output_.note(fmt::format(
        "chela: approval is pending; answer with `chela run --thread {} -m yes` (or always, no)", thread_));
    exit_code_ = exit_code(Code::kApprovalPending);
    leaving_ = true;
    return;
  }
  asking_ = data.string_or("request_id");
  exit_code_ = exit_code(Code::kApprovalPending);  // if the input ends here
  output_.err("Allow it? y (yes), a (always), n (no): ");
}

// The engine stopped, or cut us off for being slow: the stream can be taken up where it ended.
Task<> Chat::on_stream_ended() {
  if (!subscribed_once_) {
    subscribed_once_ = true;  // until an event shows that the stream is good
    if (const Result<> live = co_await subscribe(); live) co_return;
  }
  report(Error{.code = Code::kUnavailable,
               .message = "the engine has stopped; start it again and go on with the same thread"});
  leaving_ = true;
}

Task<> Chat::on_interrupt() {
  if (turns_.empty() || interrupting_) {
    leaving_ = true;
    if (!chatting() || !turns_.empty()) exit_code_ = exit_code(Code::kCancelled);
    co_return;
  }
  interrupting_ = true;
  const Result<Value> done =
      co_await client_.call("chat::interrupt", Value::object({{"thread_id", thread_}}), {});
  if (!done && done.error().code != Code::kConflict) report(done.error());
}

void Chat::report(const Error& error) {
  end_line();
  output_.note("chela: " + error.message);
  exit_code_ = exit_code(error.code);
}

void Chat::prompt() {
  if (!chatting() || !turns_.empty() || leaving_) return;
  end_line();
  output_.out("> ");
  at_line_start_ = false;
}

void Chat::end_line() {
  if (!at_line_start_) output_.out("\n");
  at_line_start_ = true;
}

}  // namespace chela::cli
