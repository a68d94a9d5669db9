#include "app/conversation.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/plain_view.h"
#include "cli/screen_view.h"
#include "cli/suggestions.h"
#include "runtime/task_group.h"
#include "tui/history.h"
#include "tui/terminal.h"

namespace chela::app {
namespace {

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

tui::Abilities abilities_of(const std::map<std::string, std::string>& environment) {
  const auto value = [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  return tui::abilities(value("TERM"), value("NO_COLOR"));
}

}  // namespace

bool can_paint(const cli::RunCommand& command, const std::map<std::string, std::string>& environment) {
  return !command.json && is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO) &&
         abilities_of(environment).screen == tui::Abilities::Screen::kPainted;
}

// What a painted conversation consists of. The terminal goes last, so that it is given back when all else is done.
struct Conversation::Screen {
  Screen(Conversation& owner, tui::Terminal held, tui::History past)
      : terminal(std::move(held)),
        history(std::move(past)),
        suggestions(owner.loop_, owner.client_, [this] { view.completer_changed(); }),
        view(owner.loop_, history, view_options(owner)),
        keys(owner.loop_) {}

  cli::ScreenView::Options view_options(Conversation& owner) {
    using Prompt = cli::ScreenView::Options::Prompt;
    const cli::RunCommand& command = owner.options_.command;
    return {.size = terminal.size(),
            .colour = command.no_color ? tui::Colour::kOff : abilities_of(owner.options_.environment).colour,
            .prompt = command.message ? Prompt::kQuestions : Prompt::kAlways,
            .write = owner.output_.out,
            .on_interrupt = [&owner] { owner.interrupt(); },
            .on_suspend = [this] { terminal.suspend(); },
            .completer = [this](std::string_view line) { return suggestions.of(line); }};
  }

  tui::Terminal terminal;
  tui::History history;
  cli::Suggestions suggestions;
  cli::ScreenView view;
  runtime::TaskGroup keys;
};

Conversation::Conversation(runtime::EventLoop& loop, os::Poller& poller, cli::Client& client,
                           const cli::Output& output, Options options)
    : loop_(loop), poller_(poller), client_(client), output_(output), options_(std::move(options)) {}

Conversation::~Conversation() = default;

Task<int> Conversation::run() {
  if (can_paint(options_.command, options_.environment)) co_return co_await run_on_screen();
  co_return co_await run_plain();
}

cli::ChatOptions Conversation::chat_options() const {
  using Input = cli::ChatOptions::Input;
  using Flow = cli::ChatOptions::Flow;
  const cli::RunCommand& command = options_.command;
  const bool person = is_terminal(STDIN_FILENO);
  return {.message = command.message,
          .thread = command.thread,
          .agent = command.agent,
          .input = person ? Input::kTerminal : Input::kPipe,
          .secrets = screen_ ? cli::ChatOptions::Secrets::kAsked : cli::ChatOptions::Secrets::kElsewhere,
          .flow = person && !command.message && !command.json ? Flow::kDialogue : Flow::kQueue};
}

Task<int> Conversation::run_plain() {
  using Manner = cli::PlainView::Manner;
  const cli::ChatOptions options = chat_options();
  const Manner manner = options_.command.json                               ? Manner::kEvents
                        : options.flow == cli::ChatOptions::Flow::kDialogue ? Manner::kDialogue
                                                                            : Manner::kReplies;
  cli::PlainView view(output_, manner);
  cli::DescriptorLines lines(poller_, STDIN_FILENO);
  cli::Chat chat(loop_, client_, lines, view, options);
  chat_ = &chat;
  const int code = co_await chat.run();
  chat_ = nullptr;
  co_return code;
}

Task<int> Conversation::run_on_screen() {
  Result<tui::History> history = tui::History::open(options_.history);
  if (!history) {
    output_.note("The history of what was typed cannot be used: " + history.error().message);
    history = tui::History();
  }
  Result<tui::Terminal> terminal = tui::Terminal::open(STDIN_FILENO, STDOUT_FILENO);
  if (!terminal) co_return cli::report_error(terminal.error(), output_);
  screen_ = std::make_unique<Screen>(*this, std::move(*terminal), std::move(*history));
  screen_->keys.spawn(read_keys(screen_->keys.stop_token()));
  cli::Chat chat(loop_, client_, screen_->view, screen_->view, chat_options());
  chat_ = &chat;
  const int code = co_await chat.run();
  chat_ = nullptr;
  screen_->keys.stop();
  co_await screen_->keys.join();
  co_await screen_->suggestions.close();
  screen_.reset();
  co_return code;
}

// Ends with the terminal.
Task<> Conversation::read_keys(std::stop_token stop) {
  std::array<char, 16 * 1024> bytes;
  while (co_await poller_.readable(STDIN_FILENO, stop)) {
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) break;
    screen_->view.feed(std::string_view(bytes.data(), static_cast<size_t>(count)));
  }
  if (!stop.stop_requested()) screen_->view.end_of_input();
}

void Conversation::interrupt() {
  if (chat_) chat_->interrupt();
}

void Conversation::leave() {
  if (chat_) chat_->leave();
}

void Conversation::on_screen_signal(int number) {
  if (!screen_) return;
  if (number == SIGCONT) screen_->terminal.take_again();
  screen_->view.resize(screen_->terminal.size());
}

}  // namespace chela::app
