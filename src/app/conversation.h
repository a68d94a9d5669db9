#pragma once

#include <map>
#include <memory>
#include <string>

#include "cli/chat.h"
#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "os/poller.h"
#include "runtime/event_loop.h"

namespace chela::app {

// True when input and output of this process are a terminal that can be painted, and the command does not want lines of JSON.
bool can_paint(const cli::RunCommand& command, const std::map<std::string, std::string>& environment);

// One conversation at the standard input and output of this process: puts Chat together with the view that fits them. While it runs on a
// terminal the terminal is its own; afterwards it is as it was. Loop thread only.
class Conversation {
 public:
  struct Options {
    cli::RunCommand command;
    std::string history;  // file
    std::map<std::string, std::string> environment;
  };
  Conversation(runtime::EventLoop& loop, os::Poller& poller, cli::Client& client, const cli::Output& output,
               Options options);
  ~Conversation();

  // Gives the exit code.
  Task<int> run();
  void interrupt();
  void leave();
  void on_screen_signal(int number);  // SIGWINCH, SIGCONT

 private:
  struct Screen;
  Task<int> run_plain();
  Task<int> run_on_screen();
  Task<> read_keys(std::stop_token stop);
  cli::ChatOptions chat_options() const;

  runtime::EventLoop& loop_;
  os::Poller& poller_;
  cli::Client& client_;
  const cli::Output& output_;
  const Options options_;
  std::unique_ptr<Screen> screen_;
  cli::Chat* chat_ = nullptr;  // while it runs
};

}  // namespace chela::app
