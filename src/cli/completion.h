#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"

// Completion in shells: a short script asks `chela __complete WORDS...`, so that it always speaks of the program that is there.
namespace chela::cli {

// For bash, zsh or fish; "" for any other shell.
std::string completion_script(std::string_view shell);

struct Completions {
  struct Word {
    std::string word;
    std::string help = {};
    bool operator==(const Word&) const = default;
  };
  std::vector<Word> words;  // that begin with what was typed
  std::string value;        // also values of this kind: AGENT, THREAD, KEY, DIR, FILE; "" = none
  std::string beginning;    // of such a value
};

// What can follow. `words` are those behind the program's name, the last one the one being typed.
Completions complete(const CommandSpec& tree, std::vector<std::string> words);

}  // namespace chela::cli
