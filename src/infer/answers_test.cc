#include "infer/answers.h"

#include <gtest/gtest.h>

namespace chela::infer {
namespace {

std::string answer(std::string_view tool, std::string_view arguments, std::string_view result) {
  return answer_from(tool, *json::parse(arguments), read_tool_result(result));
}

TEST(ToolResults, WrappingIsTakenOff) {
  const auto result =
      read_tool_result("<tool_output name=\"x\" sanitized=\"false\">\n{\"a\": 1}\n</tool_output>");
  EXPECT_EQ(result.text, "{\"a\": 1}");
  EXPECT_TRUE(result.value.is_object());
  EXPECT_FALSE(result.is_error);
  EXPECT_EQ(read_tool_result("<b>bold</b> text").text, "<b>bold</b> text");
}

TEST(ToolResults, ErrorsAreRecognised) {
  EXPECT_EQ(read_tool_result("Error: no such file").text, "no such file");
  EXPECT_TRUE(read_tool_result("Error: no such file").is_error);
  EXPECT_EQ(read_tool_result(R"({"error":{"code":"x","message":"too big"}})").text, "too big");
  EXPECT_TRUE(read_tool_result("<tool_output name=\"x\" error=\"true\">\nbad\n</tool_output>").is_error);
  EXPECT_FALSE(read_tool_result(R"({"error":null,"value":1})").is_error);
}

TEST(Answers, ShowTheResultAsItIs) {
  EXPECT_EQ(answer("calculator", R"j({"expression":"17*23"})j", R"j({"expression":"17*23","result":391})j"),
            "17*23 = 391");
  EXPECT_EQ(answer("calculator", R"j({"expression":"17*23"})j", "391"), "17*23 = 391");
  EXPECT_EQ(answer("calculator", R"j({"expression":"1/3"})j", R"j({"result":"0.3333333333333333333333"})j"),
            "1/3 = 0.3333333333333333333333");
  EXPECT_EQ(answer("memory_write", R"j({"content":"my dentist is on Friday at 9"})j",
                   R"j({"status":"written","path":"MEMORY.md"})j"),
            "I will remember: \"my dentist is on Friday at 9\"");
  EXPECT_EQ(answer("memory_write", R"j({"content":"ran"})j",
                   R"j({"status":"written","path":"daily/2026-11-22.md"})j"),
            "I have noted in daily/2026-11-22.md: \"ran\"");
  EXPECT_EQ(answer("read_file", R"j({"path":"a.txt"})j", R"j({"content":"     1│hello","path":"a.txt"})j"),
            "a.txt:\n\n     1│hello");
  EXPECT_EQ(answer("read_file", R"j({"path":"a.txt"})j", R"j({"content":"","path":"a.txt"})j"),
            "a.txt is empty.");
  EXPECT_EQ(answer("write_file", R"j({"path":"a.txt"})j", R"j({"success":true})j"), "I have written a.txt.");
  EXPECT_EQ(answer("list_dir", "{}", R"j({"entries":["src/","a.txt (3 bytes)"]})j"),
            "The folder:\n\n- src/\n- a.txt (3 bytes)");
  EXPECT_EQ(answer("list_dir", "{}", R"j({"entries":[{"name":"a.txt","size":3}]})j"),
            "The folder:\n\n- a.txt (3 bytes)");
  EXPECT_EQ(answer("memory_tree", "{}", R"j(["MEMORY.md",{"daily/":["2026-11-22.md"]}])j"),
            "In memory:\n\n- MEMORY.md\n- daily/\n  - 2026-11-22.md");
  EXPECT_EQ(answer("json", "{}", R"j({"valid":true})j"), "Yes, it is valid JSON.");
  EXPECT_EQ(answer("json", "{}", R"j({"valid":false,"error":"at byte 3"})j"),
            "No, it is not valid JSON: at byte 3");
  EXPECT_EQ(answer("read_file", R"j({"path":"a.json"})j",
                   "<tool_output name=\"read_file\" sanitized=\"false\">\n{\"error\": 1}\n</tool_output>"),
            "a.json:\n\n{\"error\": 1}");
  EXPECT_EQ(answer("echo", "{}", "hello"), "hello");
  EXPECT_EQ(answer("shell", R"j({"command":"false"})j", R"j({"output":"","exit_code":1})j"),
            "false printed nothing.\n\nIt ended with exit code 1.");
  EXPECT_EQ(answer("get_weather", "{}", "18 degrees"), "18 degrees");
  EXPECT_EQ(answer("read_file", R"j({"path":"x"})j", "Error: there is no x"),
            "That did not work: there is no x");
}

TEST(Answers, AMemoryThatIsNotThereYetIsEmpty) {
  EXPECT_EQ(answer("memory_read", R"j({"path":"MEMORY.md"})j", "Error: no document MEMORY.md"),
            "I remember nothing about you yet. Tell me: \"Remember that ...\".");
  EXPECT_EQ(answer("memory_read", R"j({"path":"notes.md"})j", "Error: no document notes.md"),
            "That did not work: no document notes.md");
}

TEST(Answers, WhatWasDeclinedIsNotSaidToBeDone) {
  constexpr std::string_view kNotDone = "I have not done that, as you declined it.";
  constexpr std::string_view kDeclined =
      "The person declined this call. Do not repeat it. Go on without it, or say what you need and why.";
  EXPECT_EQ(answer("write_file", R"j({"path":"a.txt"})j", kDeclined), kNotDone);
  EXPECT_EQ(answer("write_file", R"j({"path":"a.txt"})j", "Error: " + std::string(kDeclined)), kNotDone);
  EXPECT_EQ(answer("read_file", R"j({"path":"a.txt"})j",
                   "<tool_output name=\"read_file\" sanitized=\"false\">\nThe person declined to "
                   "dance.\n</tool_output>"),
            "a.txt:\n\nThe person declined to dance.");
}

TEST(Answers, Time) {
  EXPECT_EQ(answer("time", R"j({"operation":"now"})j", R"j({"iso":"2026-11-22T10:05:00.000Z","unix":1})j"),
            "It is Sunday, 22 November 2026, 10:05 UTC.");
  EXPECT_EQ(answer("time", R"j({"operation":"now","timezone":"Asia/Tokyo"})j",
                   R"j({"iso":"2026-11-22T19:05:00+09:00","timezone":"Asia/Tokyo"})j"),
            "It is Sunday, 22 November 2026, 19:05 (UTC+09:00), Asia/Tokyo.");
  EXPECT_EQ(answer("time", R"j({"operation":"diff"})j", R"j({"seconds":2764800,"hours":768,"days":32})j"),
            "It is 32 days.");
  EXPECT_EQ(answer("time", R"j({"operation":"diff"})j",
                   R"j({"text":"2 days 6 hours","seconds":194400,"days":2.25})j"),
            "It is 2 days 6 hours.");
  EXPECT_EQ(spoken_time("half past nine"), "half past nine");
}

TEST(Answers, RememberedTexts) {
  EXPECT_EQ(
      remembered_texts(read_tool_result(R"j({"results":[{"content":"a b","score":1},{"content":""}]})j")),
      std::vector<std::string>{"a b"});
  EXPECT_EQ(remembered_texts(read_tool_result(R"j({"content":"whole"})j")),
            std::vector<std::string>{"whole"});
  EXPECT_TRUE(remembered_texts(read_tool_result("Error: none")).empty());
  EXPECT_EQ(quote_memories({{"my dentist is on Friday at 9", 0.9F}}),
            "You told me: \"my dentist is on Friday at 9\"");
  EXPECT_TRUE(quote_memories({{"x y", 0.5F}}).starts_with("I am not sure"));
}

TEST(Answers, DeepTreesEnd) {
  std::string deep = "\"x\"";
  for (int i = 0; i < 60; ++i) deep = "{\"d\":[" + deep + "]}";
  EXPECT_TRUE(answer("memory_tree", "{}", "[" + deep + "]").starts_with("In memory:"));
}

}  // namespace
}  // namespace chela::infer
