#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "runtime/event_loop.h"
#include "runtime/task_group.h"
#include "tui/line_editor.h"

namespace chela::cli {

// What an input line could become: the engine's slash commands, after /thread the user's threads, after /model the models. Asked of the
// engine when they are first needed, threads anew each time /thread is typed. Loop thread only; await close() before destruction.
class Suggestions {
 public:
  // `on_change`: there is more to suggest than a moment ago.
  Suggestions(runtime::EventLoop& loop, Client& client, std::function<void()> on_change);

  std::vector<tui::Candidate> of(std::string_view line);
  Task<> close();

 private:
  struct Word {
    std::string word;
    std::string help;
    bool takes_more = false;  // a word may follow it
  };
  struct Words {
    enum class State { kUnknown, kAsked, kKnown } state = State::kUnknown;
    std::vector<Word> words = {};
  };

  Task<> load(Words& into, std::string operation, std::string list, std::string word, std::string help);
  const std::vector<Word>& commands();
  const std::vector<Word>& threads();
  const std::vector<Word>& models();

  Client& client_;
  std::function<void()> on_change_;
  runtime::TaskGroup loads_;
  Words commands_, threads_, models_;
};

}  // namespace chela::cli
