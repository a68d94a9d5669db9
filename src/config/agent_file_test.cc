#include "config/agent_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/test_dir.h"

namespace chela::config {
namespace {

constexpr std::string_view kFile = R"(
[agent]
name = "coder"
description = "Writes code"
module = "builtin:chat"
[agent.model]
provider = "anthropic"
model = "m-1"
max_tokens = 4096
temperature = 0.5
tool_dispatcher = "prompted"
[agent.capabilities]
tools = ["read_file", "memory_*"]
network_hosts = ["*"]
[agent.resources]
max_tokens_per_hour = 500000
system_prompt = "You write code."
tags = ["x"]
daily_budget = 5
monthly_budget = 40.5
[persona]
communication_style = "terse"
critical_rules = ["test first"]
)";

TEST(AgentFile, ReadsWhatTheEngineUses) {
  const auto file = parse_agent_file(kFile, "a/agent.toml");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->name, "coder");
  EXPECT_EQ(file->system_prompt, "You write code.");
  EXPECT_EQ(file->model, "m-1");
  EXPECT_EQ(file->max_tokens, 4096);
  EXPECT_EQ(file->temperature, 0.5);
  EXPECT_EQ(file->tool_dispatcher, "prompted");
  EXPECT_EQ(file->tools, (std::vector<std::string>{"read_file", "memory_*"}));
  EXPECT_EQ(file->critical_rules, std::vector<std::string>{"test first"});
}

TEST(AgentFile, HasBudgetsInDollars) {
  const auto file = parse_agent_file(kFile, "a/agent.toml");
  EXPECT_EQ(file->daily_budget, 5.0);
  EXPECT_EQ(file->monthly_budget, 40.5);
  for (const char* wrong : {"-1", "1e300", "nan", "\"much\""}) {
    const std::string text =
        fmt::format("[agent]\nname = 'a'\n[agent.resources]\ndaily_budget = {}\n", wrong);
    EXPECT_FALSE(parse_agent_file(text, "a/agent.toml")) << wrong;
  }
}

TEST(AgentFile, ErrorsNameFileLineAndKey) {
  const auto wrong_type = parse_agent_file("[agent]\nname = 1\n", "a/agent.toml");
  ASSERT_FALSE(wrong_type);
  EXPECT_EQ(wrong_type.error().message, "a/agent.toml:2: 'name' has the wrong type");
  const auto wrong_choice =
      parse_agent_file("[agent]\nname='a'\n[agent.model]\ntool_dispatcher='xml'\n", "a/agent.toml");
  ASSERT_FALSE(wrong_choice);
  EXPECT_EQ(wrong_choice.error().message,
            "a/agent.toml:4: 'tool_dispatcher' is 'xml'; use auto, native or prompted");
  EXPECT_FALSE(parse_agent_file("[agent\n", "x"));
  EXPECT_FALSE(parse_agent_file("[agent]\ndescription = 'no name'\n", "x"));
  EXPECT_FALSE(parse_agent_file("[agent]\nname='a'\n[agent.capabilities]\ntools=[1]\n", "x"));
}

TEST(AgentFile, AMissingFolderIsNoAgents) {
  const auto agents = load_agents("/nonexistent/agents");
  ASSERT_TRUE(agents);
  EXPECT_TRUE(agents->empty());
}

TEST(AgentFile, AFolderThatCannotBeReadIsAnError) {
  const testing::TestDir dir;
  std::ofstream(dir.path() + "/agents") << "no folder";
  const auto agents = load_agents(dir.path() + "/agents");
  ASSERT_FALSE(agents);
  EXPECT_TRUE(agents.error().message.contains(dir.path() + "/agents")) << agents.error().message;
}

// Links in a circle stand for what permissions do to anybody but root.
TEST(AgentFile, AFileThatCannotBeLookedAtIsAnErrorAndAFolderWithoutOneIsNone) {
  const testing::TestDir dir;
  std::filesystem::create_directories(dir.path() + "/notes");
  std::ofstream(dir.path() + "/README") << "no folder";
  ASSERT_TRUE(load_agents(dir.path()));
  std::filesystem::create_directories(dir.path() + "/coder");
  std::filesystem::create_symlink("agent.toml", dir.path() + "/coder/agent.toml");
  const auto agents = load_agents(dir.path());
  ASSERT_FALSE(agents);
  EXPECT_TRUE(agents.error().message.contains("coder/agent.toml")) << agents.error().message;
}

}  // namespace
}  // namespace chela::config
