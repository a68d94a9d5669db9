#include "infer/router.h"

#include <gtest/gtest.h>

#include "infer/fake_models.h"
#include "infer/limits.h"

namespace chela::infer {
namespace {

class Routing : public testing::Test {
 protected:
  Route route(const std::string& text, const std::vector<ToolSpec>& tools) {
    auto found = (*models_.router())->route(text, cues_.find(text), tools);
    EXPECT_TRUE(found);
    return *found;
  }
  std::string tool_for(const std::string& text) {
    const auto found = route(text, own_tools());
    return found.kind == Route::Kind::kTool ? found.tool : "";
  }

  FakeModels models_;
  CueFinder cues_;
};

TEST_F(Routing, SureSignsNeedNoLikeness) {
  EXPECT_EQ(tool_for("What is 17*23? Use the calculator."), "calculator");
  EXPECT_EQ(tool_for("Remember that my dentist is on Friday at 9."), "memory_write");
  EXPECT_EQ(tool_for("please run git status"), "shell");
  EXPECT_EQ(tool_for("echo hello there"), "echo");
  EXPECT_EQ(tool_for("Write 'a' to b.txt"), "write_file");
  EXPECT_EQ(tool_for("what does b.txt say?"), "read_file");
  EXPECT_EQ(tool_for("what is in src/infer/?"), "list_dir");
  EXPECT_EQ(tool_for(R"(is {"a":1} valid json?)"), "json");
  EXPECT_EQ(tool_for("show today's log"), "memory_read");
}

TEST_F(Routing, AQuestionAboutRememberingIsNoOrderToRemember) {
  EXPECT_NE(tool_for("Do you remember that my car is blue?"), "memory_write");
  EXPECT_EQ(tool_for("Can you remember that my car is blue?"), "memory_write");
}

TEST_F(Routing, LikenessDecidesTheRest) {
  EXPECT_EQ(tool_for("what time is it"), "time");
  EXPECT_EQ(tool_for("where did I leave the spare key"), "memory_search");
  EXPECT_EQ(route("who are you", own_tools()).kind, Route::Kind::kAbout);
  EXPECT_EQ(route("tell me a story about a dragon", own_tools()).kind, Route::Kind::kChat);
  EXPECT_EQ(route("zxcv qwer", own_tools()).kind, Route::Kind::kChat);
}

TEST_F(Routing, OnlyOfferedToolsAreChosen) {
  const std::vector<ToolSpec> tools = {tool("time", {"operation"})};
  EXPECT_EQ(route("Remember that my car is blue.", tools).kind, Route::Kind::kChat);
  EXPECT_EQ(route("run git log", tools).kind, Route::Kind::kNoShell);
}

TEST_F(Routing, AForeignToolIsMatchedByNameAndDescription) {
  const std::vector<ToolSpec> tools = {
      tool("get_weather", {"city"}, {}, "Get the current weather for a city."),
      tool("play_music", {"title"}, {}, "Play a song.")};
  EXPECT_EQ(route("what is the current weather in Paris", tools).tool, "get_weather");
  EXPECT_EQ(route("play a song", tools).tool, "play_music");
  EXPECT_EQ(route("use play_music for me", tools).tool, "play_music");
}

TEST_F(Routing, AForeignToolWithOurNameIsNoneOfOurs) {
  EXPECT_FALSE(is_known(tool("calculator", {"a", "b"})));
  EXPECT_TRUE(is_known(tool("calculator", {"expression"})));
}

TEST_F(Routing, ABareFileNameIsAmbiguous) {
  const auto found = route("notes.txt", own_tools());
  EXPECT_EQ(found.kind, Route::Kind::kAsk);
  EXPECT_EQ(found.tool, "read_file");
  EXPECT_EQ(found.other, "write_file");
}

TEST_F(Routing, ManyToolsStayWithinTheCache) {
  for (std::size_t i = 0; i < kMaxCachedToolVectors + 10; ++i) {
    const std::vector<ToolSpec> tools = {
        tool("tool_" + std::to_string(i), {}, {}, "Does something special.")};
    EXPECT_EQ(route("tell me a story about a dragon", tools).kind, Route::Kind::kChat);
  }
}

}  // namespace
}  // namespace chela::infer
