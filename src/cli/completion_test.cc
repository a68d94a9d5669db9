#include "cli/completion.h"

#include <gtest/gtest.h>

namespace chela::cli {
namespace {

std::vector<std::string> words(std::vector<std::string> typed) {
  std::vector<std::string> out;
  for (const Completions::Word& each : complete(command_tree(), std::move(typed)).words)
    out.push_back(each.word);
  return out;
}

std::string value(std::vector<std::string> typed) { return complete(command_tree(), std::move(typed)).value; }

using Words = std::vector<std::string>;

TEST(Completion, CommandsAndOptionsComeFromTheParser) {
  EXPECT_EQ(words({"thr"}), (Words{"threads"}));
  EXPECT_EQ(words({"memory", ""}), (Words{"tree", "read", "write", "search"}));
  EXPECT_EQ(words({"chat", "--th"}), (Words{"--thread"}));
  EXPECT_EQ(words({"threads", "--s"}), (Words{"--set", "--search"}));
  EXPECT_EQ(words({"nonsense", "x"}), Words{});
  for (const Completions::Word& each : complete(command_tree(), {""}).words)
    EXPECT_NE(each.help, "") << each.word;
}

TEST(Completion, ChoicesAndKindsOfValues) {
  EXPECT_EQ(words({"completion", ""}), (Words{"bash", "zsh", "fish"}));
  EXPECT_EQ(words({"completion", "z"}), (Words{"zsh"}));
  EXPECT_EQ(value({"chat", "--agent", ""}), "AGENT");
  EXPECT_EQ(value({"chat", "--thread", "=", "la"}), "THREAD");
  EXPECT_EQ(value({"log", ""}), "THREAD");
  EXPECT_EQ(value({"log", "--home", ""}), "DIR");
  EXPECT_EQ(value({"log", "--home", "x", "01"}), "THREAD");
  EXPECT_EQ(value({"log", "01", ""}), "");
  EXPECT_EQ(value({"config", "gate"}), "KEY");
  EXPECT_EQ(value({"chat", "--", "--ag"}), "");
}

TEST(Completion, EachShellHasAScriptThatAsksTheProgram) {
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_NE(completion_script(shell).find("__complete"), std::string::npos) << shell;
  EXPECT_EQ(completion_script("tcsh"), "");
}

}  // namespace
}  // namespace chela::cli
