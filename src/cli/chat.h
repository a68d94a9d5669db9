#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>

#include "cli/client.h"
#include "cli/lines.h"
#include "cli/output.h"
#include "runtime/channel.h"
#include "runtime/event_loop.h"
#include "runtime/task_group.h"

namespace chela::cli {

struct ChatOptions {
  std::optional<std::string> message;  // say this, print the reply, leave
  std::string thread;                  // "" = the active thread of the command line
  std::string agent;                   // "" = default
  enum class Format { kText, kJson } format = Format::kText;
  enum class Input { kTerminal, kPipe } input = Input::kPipe;  // who reads the questions
};

// A conversation on a terminal, a pipe or for one message. On a terminal lines go to the agent at once, also into a running turn; of a pipe
// the next line waits for the reply to the one before. Loop thread only.
class Chat {
 public:
  Chat(runtime::EventLoop& loop, Client& client, Lines& lines, const Output& output, ChatOptions options);

  // Ends with the input, /quit, or the reply to the one message; gives the exit code.
  Task<int> run();

  // Ctrl-C: the first ends the running turn, the next one (or one while nothing runs) leaves.
  void interrupt();
  // Ends the chat; a running turn goes on.
  void leave();

 private:
  struct Happening {
    enum class Kind { kLine, kEndOfInput, kEvent, kStreamEnded, kInterrupt, kLeave } kind;
    std::string text = {};
    op::Event event = {};
  };

  Task<> read_lines();
  Task<> read_events(std::unique_ptr<EventReader> reader);
  Task<Result<>> subscribe();
  Task<> handle(Happening happening);
  Task<> on_line(std::string line);
  Task<bool> on_command(const std::string& line);
  Task<> say(std::string text);
  Task<> answer(std::string line);
  Task<> on_event(op::Event event);
  void show(const json::Value& data, const std::string& type);
  void on_finished(const json::Value& data);
  Task<> on_stream_ended();
  Task<> on_interrupt();
  void ask(const json::Value& data);
  void prompt();
  void report(const Error& error);
  void end_line();
  bool done() const;
  bool chatting() const {
    return !options_.message && options_.input == ChatOptions::Input::kTerminal && text();
  }
  bool text() const { return options_.format == ChatOptions::Format::kText; }

  runtime::EventLoop& loop_;
  Client& client_;
  Lines& lines_;
  const Output& output_;
  ChatOptions options_;
  runtime::Channel<Happening> happenings_;
  runtime::TaskGroup readers_;

  std::string thread_;
  std::set<std::string> turns_;        // ours that have not ended
  std::deque<std::string> waiting_;    // lines of a pipe
  std::optional<std::string> asking_;  // the request that waits for an answer
  std::string streamed_;               // text shown of the running model call
  std::string last_event_;
  bool at_line_start_ = true;
  bool interrupting_ = false;
  bool input_ended_ = false;
  bool leaving_ = false;
  bool subscribed_once_ = false;
  int exit_code_ = 0;
};

}  // namespace chela::cli
