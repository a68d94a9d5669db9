#include "agent/commands/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace chela::agent::commands {
namespace {

template <size_t N>
using Words = std::array<std::string_view, N>;

constexpr Words<2> kHelp{"/help", "/?"};
constexpr Words<2> kNew{"/new", "/thread new"};
constexpr Words<1> kThread{"/thread"};
constexpr Words<1> kUndo{"/undo"};
constexpr Words<1> kRedo{"/redo"};
constexpr Words<1> kCompact{"/compact"};
constexpr Words<2> kSummarize{"/summarize", "/summary"};
constexpr Words<1> kClear{"/clear"};
constexpr Words<2> kInterrupt{"/interrupt", "/stop"};
constexpr Words<1> kModel{"/model"};
constexpr Words<3> kStatus{"/status", "/progress", "/list"};
constexpr Words<1> kTools{"/tools"};
constexpr Words<1> kVersion{"/version"};
constexpr Words<1> kPing{"/ping"};
constexpr Words<3> kQuit{"/quit", "/exit", "/shutdown"};
constexpr Words<3> kApprove{"/approve", "/yes", "/y"};
constexpr Words<2> kAlways{"/always", "/a"};
constexpr Words<3> kDeny{"/deny", "/no", "/n"};

constexpr std::array kTable{
    Spec{.verb = Verb::kHelp, .words = kHelp, .help = "lists the commands"},
    Spec{.verb = Verb::kNew, .words = kNew, .help = "begins a new thread"},
    Spec{.verb = Verb::kThread,
         .words = kThread,
         .takes = Takes::kOptional,
         .argument = "ID",
         .help = "goes on with another thread; alone, names the present one"},
    Spec{.verb = Verb::kUndo, .words = kUndo, .help = "takes the last turn back"},
    Spec{.verb = Verb::kRedo, .words = kRedo, .help = "puts back what /undo took"},
    Spec{.verb = Verb::kCompact, .words = kCompact, .help = "leaves old turns out of what the model sees"},
    Spec{.verb = Verb::kSummarize,
         .words = kSummarize,
         .help = "has the model sum up old turns, and shows it the summary instead of them"},
    Spec{.verb = Verb::kClear, .words = kClear, .help = "begins the thread anew; there is no undo"},
    Spec{.verb = Verb::kInterrupt, .words = kInterrupt, .help = "ends the running turn"},
    Spec{.verb = Verb::kModel,
         .words = kModel,
         .takes = Takes::kOptional,
         .argument = "NAME",
         .help =
             "uses another model from the next turn on, \"default\" the configured one; alone, lists them"},
    Spec{.verb = Verb::kStatus, .words = kStatus, .help = "says how the thread stands"},
    Spec{.verb = Verb::kTools, .words = kTools, .help = "lists the tools the agent has"},
    Spec{.verb = Verb::kVersion, .words = kVersion, .help = "says which version of Chela answers"},
    Spec{.verb = Verb::kPing, .words = kPing, .help = "answers pong!"},
    Spec{.verb = Verb::kQuit, .words = kQuit, .help = "leaves the terminal's chat"},
    Spec{.verb = Verb::kApprove, .words = kApprove, .help = "allows the tool call that waits"},
    Spec{.verb = Verb::kAlways,
         .words = kAlways,
         .help = "allows the tool call that waits, and this tool from now on"},
    Spec{.verb = Verb::kDeny, .words = kDeny, .help = "declines the tool call that waits"},
};

constexpr std::array kSpoken{
    SpokenDecision{"yes", Decision::kApprove},       SpokenDecision{"y", Decision::kApprove},
    SpokenDecision{"approve", Decision::kApprove},   SpokenDecision{"ok", Decision::kApprove},
    SpokenDecision{"always", Decision::kAlways},     SpokenDecision{"a", Decision::kAlways},
    SpokenDecision{"yes always", Decision::kAlways}, SpokenDecision{"approve always", Decision::kAlways},
    SpokenDecision{"no", Decision::kDeny},           SpokenDecision{"n", Decision::kDeny},
    SpokenDecision{"deny", Decision::kDeny},         SpokenDecision{"reject", Decision::kDeny},
    SpokenDecision{"cancel", Decision::kDeny},
};

}  // namespace

std::span<const Spec> table() { return kTable; }

std::span<const SpokenDecision> spoken_decisions() { return kSpoken; }

std::string usage(const Spec& spec) {
  std::string text(spec.words.front());
  if (spec.takes == Takes::kOptional) text += fmt::format(" [{}]", spec.argument);
  return text;
}

std::string help_text() {
  size_t width = 0;
  for (const Spec& spec : kTable) width = std::max(width, usage(spec).size());
  std::string text;
  for (const Spec& spec : kTable) {
    text += fmt::format("{:<{}}  {}", usage(spec), width, spec.help);
    for (size_t i = 1; i < spec.words.size(); ++i)
      text += fmt::format("{}{}", i == 1 ? " (also " : ", ", spec.words[i]);
    text += spec.words.size() > 1 ? ")\n" : "\n";
  }
  return text + "Everything else goes to the agent. While it works, what you write joins the running turn.";
}

}  // namespace chela::agent::commands
