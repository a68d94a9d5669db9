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

TEST(CommandLine, TracesAreRecordedExportedAndPlayed) {
  const OperationCommand on = command<OperationCommand>({"record"});
  EXPECT_EQ(on.operation, "setting::set");
  EXPECT_EQ(json::write(on.args), R"({"key":"traces.record","value":"true"})");
  EXPECT_EQ(command<OperationCommand>({"record", "off"}).args.string_or("value"), "false");
  EXPECT_EQ(command<OperationCommand>({"record", "status"}).operation, "setting::get");
  EXPECT_TRUE(std::holds_alternative<ParseEnd>(parse({"record", "maybe"})));
  EXPECT_EQ(command<OperationCommand>({"export-trace", "t-1"}).args.string_or("id"), "t-1");
  const ReplayTraceCommand replay =
      command<ReplayTraceCommand>({"replay-trace", "--strict", "a.json", "b", "--rewrite", "--json"});
  EXPECT_EQ(replay.files, (std::vector<std::string>{"a.json", "b"}));
  EXPECT_TRUE(replay.strict && replay.rewrite && replay.json);
  EXPECT_TRUE(std::holds_alternative<ParseEnd>(parse({"replay-trace"})));
}

TEST(CommandLine, InspectingToolCalls) {
  command<InspectCommand>({"inspect", "tool-calls"});
  EXPECT_EQ(command<RouteCommand>({"inspect", "route", "hello", "there"}).text, "hello there");
  EXPECT_EQ(command<RouteCommand>({"inspect", "route"}).text, "");
  EXPECT_TRUE(command<RouteCommand>({"inspect", "route", "hello", "--json"}).json);
  const auto alone = parse({"inspect"});
  EXPECT_TRUE(std::holds_alternative<ParseEnd>(alone));
}

TEST(CommandLine, AChatHasNoGatewayOfItsOwn) {
  const RunCommand chat = command<RunCommand>({"chat", "--thread", "latest", "--agent", "a", "--no-color"});
  EXPECT_TRUE(chat.cli_only && chat.no_color && !chat.headless);
  EXPECT_EQ(chat.thread, "latest");
  EXPECT_EQ(chat.agent, "a");
  EXPECT_EQ(command<RunCommand>({"chat", "-m", "hello"}).message, "hello");
  EXPECT_FALSE(command<RunCommand>({"run"}).cli_only);
}

TEST(CommandLine, ThreadsCanBeSearched) {
  EXPECT_EQ(command<OperationCommand>({"threads", "--search", "red kite"}).args.string_or("q"), "red kite");
  EXPECT_EQ(command<OperationCommand>({"threads"}).args.find("q"), nullptr);
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

// The operations and the modules' functions are listed without it.
TEST(CommandLine, TheHelpSaysWhichFunctionsAllAdds) {
  const auto help = parse({"help", "functions"});
  ASSERT_TRUE(std::holds_alternative<ParseEnd>(help));
  EXPECT_TRUE(std::get<ParseEnd>(help).out.contains("those of engine:: too")) << std::get<ParseEnd>(help).out;
}

TEST(CommandLine, FunctionsOfABusGetTheirArguments) {
  const BusCommand call =
      command<BusCommand>({"call", "chat::send", R"({"content": "x"})", "--url", "ws://h:1", "--token", "t"});
  EXPECT_EQ(call.function, "chat::send");
  EXPECT_EQ(call.data.string_or("content"), "x");
  EXPECT_EQ(call.url + call.token, "ws://h:1t");
  EXPECT_TRUE(call.json);
  EXPECT_EQ(command<BusCommand>({"functions", "--search", "x"}).data.string_or("search"), "x");
  EXPECT_TRUE(command<BusCommand>({"triggers", "--all", "--json"}).json);
  EXPECT_EQ(command<BusCommand>({"workers"}).function, "engine::workers::list");
  EXPECT_EQ(command<BusCommand>({"queue", "redrive", "q"}).function, "iii::queue::redrive");
  const BusCommand one = command<BusCommand>({"queue", "redrive", "q", "m"});
  EXPECT_EQ(one.function + one.data.string_or("message_id"), "iii::queue::redrive_messagem");
  const OperationCommand token = command<OperationCommand>({"worker", "token", "--permission", "tools:*"});
  EXPECT_EQ(token.args.find("permissions")->as_array()->size(), 3u);
  EXPECT_TRUE(command<EngineCommand>({"engine", "--use-default-config"}).use_default);
  EXPECT_EQ(command<EngineCommand>({"engine", "-c", "x.yaml"}).config, "x.yaml");
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
  EXPECT_EQ(command<OperationCommand>({"memory", "search", "dentist"}).args.string_or("query"), "dentist");
  EXPECT_EQ(command<PullCommand>({"models", "pull", "local/small"}).model, "local/small");
  EXPECT_EQ(command<SecretCommand>({"secret", "set", "github"}).name, "github");
  EXPECT_EQ(command<OperationCommand>({"secret", "list"}).operation, "vault::list");
  EXPECT_EQ(command<OperationCommand>({"secret", "delete", "github"}).args.string_or("name"), "github");
  EXPECT_TRUE(command<DoctorCommand>({"doctor", "--json"}).json);
  EXPECT_FALSE(command<StatusCommand>({"status"}).json);
  EXPECT_EQ(command<ServiceCommand>({"service", "install"}).what, ServiceCommand::What::kInstall);
  EXPECT_TRUE(command<ServiceCommand>({"service", "stop", "--system"}).system);
  EXPECT_TRUE(command<OnboardCommand>({"onboard", "--skip-auth"}).skip_auth);
  EXPECT_EQ(command<OperationCommand>({"config", "gateway.port"}).args.string_or("key"), "gateway.port");
  EXPECT_EQ(command<OperationCommand>({"config"}).operation, "setting::list");
  EXPECT_EQ(command<OperationCommand>({"config", "list", "--filter", "llm."}).args.string_or("prefix"),
            "llm.");
  EXPECT_EQ(command<OperationCommand>({"config", "get", "gateway.port"}).member, "value");
  const auto set = command<OperationCommand>({"config", "set", "gateway.port", "0"});
  EXPECT_EQ(set.operation, "setting::set");
  EXPECT_EQ(set.args, *json::parse(R"({"key": "gateway.port", "value": "0"})"));
  EXPECT_EQ(command<OperationCommand>({"config", "reset", "gateway.port"}).operation, "setting::reset");
  EXPECT_EQ(command<ConfigFileCommand>({"config", "path"}).action, ConfigFileCommand::Action::kPath);
  const auto init = command<ConfigFileCommand>({"config", "init", "-o", "x.toml", "--force"});
  EXPECT_EQ(init.output, "x.toml");
  EXPECT_EQ(init.replace, ConfigFileCommand::Replace::kYes);
  command<VersionCommand>({"version"});
  command<VersionCommand>({"--version"});
}

std::string said(std::vector<const char*> args) {
  const auto parsed = parse(std::move(args));
  const auto* end = std::get_if<ParseEnd>(&parsed);
  return end ? end->out + end->err : "nothing";
}

TEST(CommandLine, MistakesSayWhatWasMeantAndWhereHelpIs) {
  EXPECT_EQ(said({"thread"}),
            "chela: chela has no command 'thread'; did you mean threads?\nNext step: chela --help\n");
  EXPECT_EQ(said({"run", "--prot", "1"}),
            "chela: chela run has no option --prot; did you mean --port?\nNext step: chela run --help\n");
  EXPECT_EQ(said({"--bogus=3"}), "chela: chela has no option --bogus\nNext step: chela --help\n");
  EXPECT_EQ(said({"memory"}),
            "chela: chela memory needs one of its commands: tree, read, write, search\nNext step: chela "
            "memory --help\n");
  EXPECT_EQ(
      said({"memory", "raed", "x"}),
      "chela: chela memory has no command 'raed'; did you mean read?\nNext step: chela memory --help\n");
  EXPECT_EQ(said({"log"}), "chela: THREAD is required\nNext step: chela log --help\n");
  EXPECT_EQ(said({"status", "now"}),
            "chela: chela status does not expect 'now'\nNext step: chela status --help\n");
}

TEST(CommandLine, HelpIsACommandToo) {
  EXPECT_EQ(said({"help"}), said({"--help"}));
  EXPECT_EQ(said({"help", "run"}), said({"run", "--help"}));
  EXPECT_EQ(said({"help", "memory", "read"}), said({"memory", "read", "-h"}));
  EXPECT_NE(said({"help", "memory", "read"}).find("Usage: chela memory read"), std::string::npos);
  EXPECT_NE(said({"help", "nonsense"}).find("chela has no command 'nonsense'"), std::string::npos);
  EXPECT_NE(said({"help", "run", "fast"}).find("chela run does not expect 'fast'"), std::string::npos);
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
