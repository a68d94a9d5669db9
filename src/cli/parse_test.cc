#include <gtest/gtest.h>

#include "cli/command_line.h"

namespace chela::cli {
namespace {

std::variant<CommandLine, ParseEnd> parse(std::vector<const char*> args) {
  args.insert(args.begin(), "chela");
  return parse_command_line(static_cast<int>(args.size()), args.data());
}

template <class Command>
Command command(std::vector<const char*> args) {
  const auto parsed = parse(std::move(args));
  const auto* line = std::get_if<CommandLine>(&parsed);
  if (!line || !std::holds_alternative<Command>(line->command)) {
    ADD_FAILURE() << "another command" << (line ? "" : std::get<ParseEnd>(parsed).err);
    return {};
  }
  return std::get<Command>(line->command);
}

TEST(CommandLine, NothingIsRun) {
  const RunCommand run = command<RunCommand>({});
  EXPECT_FALSE(run.message || run.headless || run.json);
  EXPECT_EQ(command<RunCommand>({"-m", "hello"}).message, "hello");
  const RunCommand full =
      command<RunCommand>({"run", "--headless", "--no-onboard", "--cli-only", "--no-db", "--json", "--thread",
                           "t", "--agent", "a", "-m", "--not an option"});
  EXPECT_TRUE(full.headless && full.no_onboard && full.cli_only && full.no_db && full.json);
  EXPECT_EQ(full.thread, "t");
  EXPECT_EQ(full.message, "--not an option");
}

TEST(CommandLine, HomeAndSettingsGoWithEveryCommand) {
  const auto parsed = parse({"threads", "--home", "h", "--set", "llm.model=x=y", "--set", "gateway.port=0"});
  const CommandLine& line = std::get<CommandLine>(parsed);
  EXPECT_EQ(line.home, "h");
  EXPECT_EQ(line.settings,
            (std::vector<std::pair<std::string, std::string>>{{"llm.model", "x=y"}, {"gateway.port", "0"}}));
  const auto port = parse({"run", "--port", "0"});
  EXPECT_EQ(std::get<CommandLine>(port).settings.at(0).first, "gateway.port");
}

TEST(CommandLine, OperationsGetTheirArguments) {
  EXPECT_EQ(command<OperationCommand>({"log", "t-1", "--after", "5"}).args.int_or("after", 0), 5);
  EXPECT_EQ(command<OperationCommand>({"replay", "t-1", "--until", "7"}).operation, "thread::replay");
  EXPECT_EQ(command<OperationCommand>({"fork", "t-1", "--at", "3"}).args.int_or("at", 0), 3);
  const OperationCommand token =
      command<OperationCommand>({"token", "create", "--label", "x", "--permission", "chat:write", "--json"});
  EXPECT_EQ(token.args.find("permissions")->as_array()->size(), 1u);
  EXPECT_TRUE(token.json);
  EXPECT_EQ(command<OperationCommand>({"token", "create"}).args.find("permissions"), nullptr);
  EXPECT_EQ(
      command<OperationCommand>({"call", "chat::send", R"({"content": "x"})"}).args.string_or("content"),
      "x");
  EXPECT_EQ(command<OperationCommand>({"memory", "search", "dentist"}).args.string_or("query"), "dentist");
  EXPECT_EQ(command<PullCommand>({"models", "pull", "local/small"}).model, "local/small");
  EXPECT_EQ(command<ConfigCommand>({"config", "gateway.port"}).key, "gateway.port");
  command<VersionCommand>({"version"});
  command<VersionCommand>({"--version"});
}

TEST(CommandLine, MistakesEndWithTwoAndHelpWithZero) {
  for (const std::vector<const char*>& args :
       std::vector<std::vector<const char*>>{{"nonsense"},
                                             {"fork", "t"},
                                             {"log"},
                                             {"--set", "nothing"},
                                             {"token"},
                                             {"run", "--thread"},
                                             {"call", "x", "[1]"},
                                             {"fork", "t", "--at", "x"}}) {
    const auto parsed = parse(args);
    ASSERT_TRUE(std::holds_alternative<ParseEnd>(parsed)) << args[0];
    EXPECT_EQ(std::get<ParseEnd>(parsed).exit_code, 2) << args[0];
    EXPECT_TRUE(std::get<ParseEnd>(parsed).err.starts_with("chela: ")) << args[0];
  }
  for (const std::vector<const char*>& args :
       std::vector<std::vector<const char*>>{{"--help"}, {"run", "--help"}, {"token", "create", "-h"}}) {
    const auto parsed = parse(args);
    ASSERT_TRUE(std::holds_alternative<ParseEnd>(parsed)) << args[0];
    EXPECT_EQ(std::get<ParseEnd>(parsed).exit_code, 0);
    EXPECT_FALSE(std::get<ParseEnd>(parsed).out.empty());
  }
}

}  // namespace
}  // namespace chela::cli
