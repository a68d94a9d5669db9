#pragma once

#include <deque>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "cli/chat_view.h"
#include "cli/client.h"
#include "cli/lines.h"
#include "runtime/channel.h"
#include "runtime/event_loop.h"
#include "runtime/task_group.h"

namespace chela::cli {

struct ChatOptions {
  std::optional<std::string> message;  // say this, print the reply, leave
  std::string thread;  // "" = the active thread of the command line; "latest" = the one used last
  std::string agent;   // "" = default
  enum class Input { kTerminal, kPipe } input = Input::kPipe;  // who reads the questions
  enum class Secrets {
    kAsked,
    kElsewhere
  } secrets = Secrets::kElsewhere;  // whether they can be typed here unseen
  // How messages follow each other: of a dialogue they go to the agent at once, also into a running turn; in a queue the next one waits
  // for the reply to the one before.
  enum class Flow { kDialogue, kQueue } flow = Flow::kQueue;
};

// A conversation: takes lines, talks to the engine, says to the view what to show. When the stream of events breaks it is taken up where
// it ended. Loop thread only.
class Chat {
 public:
  Chat(runtime::EventLoop& loop, Client& client, Lines& lines, ChatView& view, ChatOptions options);

  // Ends with the input, /quit, or the reply to the one message; gives the exit code.
  Task<int> run();

  // Ctrl-C: the first ends the running turn, the next one (or one while nothing runs) leaves, also when the engine does not answer.
  void interrupt();
  // Ends the chat; a running turn goes on.
  void leave();

 private:
  struct Happening {
    enum class Kind { kLine, kEndOfInput, kEvent, kConnection, kLost, kInterrupt, kLeave } kind;
    std::string text = {};
    op::Event event = {};
  };

  Task<int> finish();
  void hurry();
  Task<> give_up(std::stop_source call);
  std::stop_token begin_call();
  Error end_call(Error error);  // gives the error to tell
  Task<Result<json::Value>> call(std::string operation, json::Value args);
  Task<> tell(Happening happening);
  Task<> read_lines();
  Task<> watch(std::unique_ptr<EventReader> reader);
  Task<> read_events(std::unique_ptr<EventReader> reader);
  Task<std::unique_ptr<EventReader>> reconnect();
  Task<Result<std::unique_ptr<EventReader>>> subscribe();
  Task<Result<std::unique_ptr<EventReader>>> subscribe_first();
  Task<Result<>> begin();
  Task<Result<>> find_latest();
  Task<Result<>> show_past();
  Task<> handle(Happening happening);
  Task<> on_line(std::string line);
  Task<> say(std::string text);
  Task<> ask_what_waits();
  Task<> answer(std::string line);
  Task<> give_credential(std::string value);
  void on_event(op::Event event);
  void on_turn_event(const json::Value& data, const std::string& type);
  void on_finished(const json::Value& data);
  Task<> on_interrupt();
  void ask(const json::Value& data);
  void ask_credential(const json::Value& data);
  void expect_next();
  void report(const Error& error);
  bool ours(const json::Value& data) const;
  bool done() const;
  bool dialogue() const { return options_.flow == ChatOptions::Flow::kDialogue; }

  runtime::EventLoop& loop_;
  Client& client_;
  Lines& lines_;
  ChatView& view_;
  ChatOptions options_;
  runtime::Channel<Happening> happenings_;
  runtime::TaskGroup readers_;

  std::string thread_;
  std::set<std::string> turns_;              // ours that have not ended
  std::deque<std::string> waiting_;          // lines that wait for their turn
  json::Value asked_about_;                  // what it asks
  std::optional<std::string> asking_;        // the request that waits for an answer
  std::optional<std::string> credential_;    // name of what the next line is
  std::string last_event_;                   // that was taken off the stream
  std::stop_source call_{std::nostopstate};  // ends the call under way
  bool hurried_ = false;                     // by a Ctrl-C
  bool interrupting_ = false;
  bool input_ended_ = false;
  bool leaving_ = false;
  int exit_code_ = 0;
};

}  // namespace chela::cli
