#include "config/agent_file.h"

#include <gtest/gtest.h>

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
[agent.capabilities]
tools = ["read_file", "memory_*"]
network_hosts = ["*"]
[agent.resources]
max_tokens_per_hour = 500000
system_prompt = "You write code."
tags = ["x"]
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
  EXPECT_EQ(file->tools, (std::vector<std::string>{"read_file", "memory_*"}));
  EXPECT_EQ(file->critical_rules, std::vector<std::string>{"test first"});
}

TEST(AgentFile, ErrorsNameFileLineAndKey) {
  const auto wrong_type = parse_agent_file("[agent]\nname = 1\n", "a/agent.toml");
  ASSERT_FALSE(wrong_type);
  EXPECT_EQ(wrong_type.error().message, "a/agent.toml:2: 'name' has the wrong type");
  EXPECT_FALSE(parse_agent_file("[agent\n", "x"));
  EXPECT_FALSE(parse_agent_file("[agent]\ndescription = 'no name'\n", "x"));
  EXPECT_FALSE(parse_agent_file("[agent]\nname='a'\n[agent.capabilities]\ntools=[1]\n", "x"));
}

TEST(AgentFile, AMissingFolderIsNoAgents) {
  const auto agents = load_agents("/nonexistent/agents");
  ASSERT_TRUE(agents);
  EXPECT_TRUE(agents->empty());
}

}  // namespace
}  // namespace chela::config
