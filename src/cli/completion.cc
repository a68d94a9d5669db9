#include "cli/completion.h"

#include <algorithm>

namespace chela::cli {
namespace {

constexpr std::string_view kBash =
    R"(# chela: completion for bash. Load it with: source <(chela completion bash)
_chela() {
  local line current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current") ;;
      :dirs) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current") ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _chela chela
)";

constexpr std::string_view kZsh = R"(#compdef chela
# chela: completion for zsh. Load it with: source <(chela completion zsh), or put it as _chela into a folder of $fpath.
_chela() {
  local line
  local -a found
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :files) _files ;;
      :dirs) _files -/ ;;
      ?*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  (( $#found )) && _describe chela found
}
if [ "${funcstack[1]}" = _chela ]; then _chela "$@"; else compdef _chela chela; fi
)";

constexpr std::string_view kFish =
    R"(# chela: completion for fish. Load it with: chela completion fish | source
function __chela_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    switch $line
      case ':files'
        __fish_complete_path "$current"
      case ':dirs'
        __fish_complete_directories "$current"
      case '*'
        printf '%s\n' $line
    end
  end
end
complete -c chela -f -a '(__chela_complete)'
)";

const CommandSpec* find_command(const CommandSpec& in, const std::string& name) {
  const auto found = std::ranges::find(in.commands, name, &CommandSpec::name);
  return found == in.commands.end() ? nullptr : &*found;
}

const OptionSpec* find_option(const CommandSpec& in, std::string_view name) {
  for (const OptionSpec& each : in.options) {
    if (std::ranges::find(each.names, name) != each.names.end()) return &each;
  }
  return nullptr;
}

// Where a line stands after some words.
struct Place {
  const CommandSpec* command;
  const OptionSpec* open = nullptr;  // an option whose value comes next
  size_t positionals = 0;
  bool only_words = false;  // "--" was there

  void take(const std::string& word) {
    if (open) {
      open = nullptr;
    } else if (!only_words && word == "--") {
      only_words = true;
    } else if (!only_words && word.starts_with('-') && word.size() > 1) {
      const OptionSpec* option = find_option(*command, word);
      if (option && !option->value.empty()) open = option;
    } else if (const CommandSpec* next = positionals == 0 ? find_command(*command, word) : nullptr) {
      command = next;
    } else {
      ++positionals;
    }
  }
};

void add(Completions& to, const std::string& word, const std::string& help, std::string_view beginning) {
  if (word.starts_with(beginning)) to.words.push_back({.word = word, .help = help});
}

void add_values(Completions& to, const OptionSpec& option, const std::string& beginning) {
  to.beginning = beginning;
  for (const std::string& each : option.choices) add(to, each, "", beginning);
  if (option.choices.empty()) to.value = option.value;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh);
  if (shell == "fish") return std::string(kFish);
  return {};
}

Completions complete(const CommandSpec& tree, std::vector<std::string> words) {
  Completions found;
  if (words.empty()) words.emplace_back();
  // bash makes three words of --thread=ID; elsewhere it is one.
  std::erase(words, "=");
  const std::string current = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  Place place{.command = &tree};
  for (const std::string& each : words) place.take(each);
  if (place.open) {
    if (place.open->value == "THREAD") add(found, "latest", "the one used last", current);
    add_values(found, *place.open, current);
  } else if (!place.only_words && current.starts_with('-')) {
    if (const size_t equals = current.find('='); equals != std::string::npos) {
      const OptionSpec* option = find_option(*place.command, current.substr(0, equals));
      if (!option || option->choices.empty()) return found;
      for (const std::string& each : option->choices)
        add(found, current.substr(0, equals + 1) + each, "", current);
      return found;
    }
    for (const OptionSpec& option : place.command->options) {
      for (const std::string& name : option.names) add(found, name, option.help, current);
    }
  } else {
    if (place.positionals == 0) {
      for (const CommandSpec& each : place.command->commands) add(found, each.name, each.help, current);
    }
    if (place.positionals < place.command->positionals.size())
      add_values(found, place.command->positionals[place.positionals], current);
  }
  return found;
}

}  // namespace chela::cli
