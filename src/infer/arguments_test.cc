#include "infer/arguments.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "infer/examples.h"

namespace chela::infer {
namespace {

class Arguments : public testing::Test {
 protected:
  // The arguments as JSON, or the question.
  std::string fill(std::string_view tool, const std::string& text) {
    const auto filled = rules_.fill(tool, {text, now_, cues_.find(text)});
    if (const auto* question = std::get_if<Question>(&filled)) return question->text;
    return json::write(std::get<json::Value>(filled));
  }

  CueFinder cues_;
  ArgumentRules rules_{parse_places(builtin_places())};
  std::optional<std::string> now_ = "2026-11-22T10:00:00.000Z";
};

TEST_F(Arguments, Memory) {
  EXPECT_EQ(fill("memory_write", "Remember that my dentist is on Friday at 9."),
            R"j({"content":"my dentist is on Friday at 9","target":"memory"})j");
  EXPECT_EQ(fill("memory_write", "I take my coffee black, don't forget it ok?"),
            R"j({"content":"I take my coffee black","target":"memory"})j");
  EXPECT_EQ(fill("memory_write", "add to my daily log: finished the report"),
            R"j({"content":"finished the report","target":"daily_log"})j");
  EXPECT_EQ(fill("memory_write", "remember my flight leaves tomorrow at 8"),
            R"j({"content":"my flight leaves tomorrow at 8 (noted 2026-11-22)","target":"memory"})j");
  EXPECT_EQ(fill("memory_write", "please remember"), "What should I remember?");
  EXPECT_EQ(fill("memory_search", "When is my dentist?"), R"j({"query":"dentist"})j");
  EXPECT_EQ(fill("memory_read", "show today's daily log"), R"j({"path":"daily/2026-11-22.md"})j");
  EXPECT_EQ(fill("memory_read", "what do you know about me?"), R"j({"path":"MEMORY.md"})j");
  EXPECT_EQ(fill("memory_tree", "list your memory documents"), "{}");
}

TEST_F(Arguments, Time) {
  EXPECT_EQ(fill("time", "What time is it?"), R"j({"operation":"now"})j");
  EXPECT_EQ(fill("time", "what time is it in New York?"),
            R"j({"operation":"now","timezone":"America/New_York"})j");
  EXPECT_EQ(fill("time", "time in Europe/Oslo"), R"j({"operation":"now","timezone":"Europe/Oslo"})j");
  EXPECT_EQ(fill("time", "days between 2026-01-01 and 2026-03-15"),
            R"j({"operation":"diff","timestamp":"2026-01-01","timestamp2":"2026-03-15"})j");
  EXPECT_EQ(fill("time", "how many days until 2026-12-24"),
            R"j({"operation":"diff","timestamp":"now","timestamp2":"2026-12-24"})j");
  EXPECT_EQ(fill("time", "how long since 2026-01-01"),
            R"j({"operation":"diff","timestamp":"2026-01-01","timestamp2":"now"})j");
  EXPECT_EQ(fill("time", "convert 2026-01-01T10:00:00Z to Tokyo time"),
            R"j({"operation":"convert","timestamp":"2026-01-01T10:00:00Z","timezone":"Asia/Tokyo"})j");
}

TEST_F(Arguments, Files) {
  EXPECT_EQ(fill("read_file", "Read the first 10 lines of notes.txt"),
            R"j({"path":"notes.txt","limit":10})j");
  EXPECT_EQ(fill("read_file", "show lines 5 to 20 of a.md"), R"j({"path":"a.md","offset":5,"limit":16})j");
  EXPECT_EQ(fill("read_file", "read a file"), "Which file should I read? Please write its name.");
  EXPECT_EQ(fill("write_file", "Write 'hello world' to hello.txt"),
            R"j({"path":"hello.txt","content":"hello world"})j");
  EXPECT_EQ(fill("write_file", "Create a file todo.md containing buy milk."),
            R"j({"path":"todo.md","content":"buy milk"})j");
  EXPECT_EQ(fill("write_file", "save this text to out.txt: all done"),
            R"j({"path":"out.txt","content":"all done"})j");
  EXPECT_EQ(fill("write_file", "make a file a.py:\nprint(1)\nprint(2)\n"),
            R"j({"path":"a.py","content":"print(1)\nprint(2)"})j");
  EXPECT_EQ(fill("write_file", "write to a.txt"), "What should I write into a.txt?");
  EXPECT_EQ(fill("list_dir", "what is in the folder src?"), R"j({"path":"src"})j");
  EXPECT_EQ(fill("list_dir", "List the files in the current directory."), "{}");
  EXPECT_EQ(fill("list_dir", "list all files including subfolders"), R"j({"recursive":true})j");
}

TEST_F(Arguments, Others) {
  EXPECT_EQ(fill("calculator", "What is 17*23?"), R"j({"expression":"17*23"})j");
  EXPECT_TRUE(fill("calculator", "use the calculator").starts_with("Which sum should I"));
  EXPECT_EQ(fill("echo", "repeat after me: good night"), R"j({"message":"good night"})j");
  EXPECT_EQ(fill("json", R"j(is this valid json? {"a": 1})j"),
            R"j({"operation":"validate","data":"{\"a\": 1}"})j");
  EXPECT_EQ(fill("json", R"j(get user.name from {"user": {"name": "Ada"}})j"),
            R"j({"operation":"query","data":"{\"user\": {\"name\": \"Ada\"}}","path":"user.name"})j");
}

TEST_F(Arguments, AShellCommandIsOnlyWhatThePersonWrote) {
  EXPECT_EQ(fill("shell", "please run git status"), R"j({"command":"git status"})j");
  EXPECT_EQ(fill("shell", "run make test in the shell"), R"j({"command":"make test"})j");
  EXPECT_TRUE(fill("shell", "delete all my files").starts_with("Which command should I run?"));
}

RC_GTEST_FIXTURE_PROP(Arguments, EveryCommandIsPartOfTheRequest, (const std::string& text)) {
  const auto filled = rules_.fill("shell", {text, now_, cues_.find(text)});
  if (const auto* arguments = std::get_if<json::Value>(&filled))
    RC_ASSERT(text.contains(*arguments->find("command")->as_string()));
}

}  // namespace
}  // namespace chela::infer
