#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "app/agents.h"
#include "app/configuration.h"
#include "app/engine_file.h"
#include "app/paths.h"
#include "base/limits.h"
#include "testing/test_dir.h"

namespace chela::app {
namespace {

using Environment = std::map<std::string, std::string>;

TEST(Paths, TheFlagWinsOverTheEnvironment) {
  const Environment environment{{"HOME", "/people/one"}, {"CHELA_HOME", "/state"}};
  EXPECT_EQ(paths_for("/flag/", environment)->home, "/flag");
  EXPECT_EQ(paths_for("", environment)->engine_file, "/state/run/engine.json");
  EXPECT_EQ(paths_for("", {{"HOME", "/people/one"}})->home, "/people/one/.chela");
  EXPECT_TRUE(paths_for("relative", environment)->home.starts_with('/'));
  EXPECT_EQ(paths_for("", {}).error().code, Code::kInvalidArgument);
}

TEST(Paths, FoldersArePrivate) {
  testing::TestDir dir;
  const Paths paths = *paths_for(dir.path() + "/home", {});
  ASSERT_TRUE(make_folders(paths));
  for (const std::string& each : {paths.home, paths.run, paths.logs, paths.workspaces}) {
    struct stat info{};
    ASSERT_EQ(::stat(each.c_str(), &info), 0) << each;
    EXPECT_EQ(info.st_mode & 0777, 0700u) << each;
  }
}

TEST(Paths, TheProgramsDataIsFound) {
  testing::TestDir dir;
  EXPECT_TRUE(share_folder({}));  // of the source tree
  std::ofstream(dir.path() + "/models.toml") << "";
  EXPECT_EQ(*share_folder({{"CHELA_SHARE", dir.path()}}), dir.path());
}

TEST(EngineFile, ComesBackAsItWasWritten) {
  testing::TestDir dir;
  const std::string path = dir.path() + "/engine.json";
  EXPECT_EQ(read_engine_file(path).error().code, Code::kNotFound);
  ASSERT_TRUE(write_engine_file(path, {.pid = 42,
                                       .version = "1.0",
                                       .started_at = 1'767'225'600'000,
                                       .socket = "/s",
                                       .ports = {{"gateway", 3000}}}));
  const Result<EngineFile> file = read_engine_file(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->pid, 42);
  EXPECT_EQ(file->started_at, 1'767'225'600'000);
  EXPECT_EQ(file->ports.at("gateway"), 3000);
  EXPECT_EQ(file->text(), "pid 42, gateway on port 3000");
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  std::ofstream(path) << "{ not json";
  EXPECT_EQ(read_engine_file(path).error().code, Code::kInvalidArgument);
}

TEST(Configuration, AFileHasASize) {
  const testing::TestDir dir;
  const Paths paths = *paths_for(dir.path(), {});
  EXPECT_EQ(*read_configuration_file(paths), "");  // none is an empty one
  std::ofstream(paths.config) << std::string(kMaxConfigBytes, '#');
  EXPECT_EQ(read_configuration_file(paths)->size(), kMaxConfigBytes);
  std::ofstream(paths.config, std::ios::app) << '#';
  EXPECT_EQ(read_configuration_file(paths).error().code, Code::kTooLarge);
}

TEST(Agents, WhatAFileLeavesOpenComesFromTheSettings) {
  testing::TestDir dir;
  std::filesystem::create_directories(dir.path() + "/writer");
  std::ofstream(dir.path() + "/writer/agent.toml")
      << "[agent]\nname = \"writer\"\nsystem_prompt = \"Write.\"\n[agent.model]\ntemperature = 0.1\n"
         "[persona]\ncritical_rules = [\"Never guess.\"]\n";
  config::Settings settings;
  settings.agent.name = "Max";
  settings.llm.max_tokens = 99;
  settings.llm.temperature = 0.9;
  const auto specs = load_agent_specs(dir.path(), settings);
  ASSERT_TRUE(specs) << specs.error().text();
  ASSERT_EQ(specs->size(), 2u);
  EXPECT_EQ(specs->at(0).name, "writer");
  EXPECT_EQ(specs->at(0).system_prompt, "Write.\n\nRules you never break:\n- Never guess.");
  EXPECT_EQ(specs->at(0).temperature, 0.1);
  EXPECT_EQ(specs->at(0).max_tokens, 99);
  EXPECT_EQ(specs->at(1).name, "default");
  EXPECT_EQ(specs->at(1).system_prompt, "Your user calls you Max.");
  EXPECT_EQ(specs->at(1).temperature, 0.9);
}

TEST(Agents, AFileThatSaysHowToolsAreCalledWins) {
  testing::TestDir dir;
  for (const std::string& name : {"auto", "native", "silent"}) {
    std::filesystem::create_directories(dir.path() + "/" + name);
    std::ofstream file(dir.path() + "/" + name + "/agent.toml");
    file << "[agent]\nname = \"" << name << "\"\n";
    if (name != "silent") file << "[agent.model]\ntool_dispatcher = \"" << name << "\"\n";
  }
  config::Settings settings;
  settings.agent.tool_dispatcher = "prompted";
  const auto specs = load_agent_specs(dir.path(), settings);
  ASSERT_TRUE(specs) << specs.error().text();
  EXPECT_EQ(specs->at(0).tool_calling, std::nullopt) << "the model's own way";
  EXPECT_EQ(specs->at(1).tool_calling, llm::ToolCalling::kNative);
  EXPECT_EQ(specs->at(2).tool_calling, llm::ToolCalling::kPrompted);
  EXPECT_EQ(specs->at(3).tool_calling, llm::ToolCalling::kPrompted) << "the default agent";
}

}  // namespace
}  // namespace chela::app
