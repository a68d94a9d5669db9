#include "infer/words.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace chela::infer {
namespace {

std::string path(std::string_view text) {
  const auto found = find_path(text);
  return found ? found->path : "";
}

TEST(FindPath, FilesAndFolders) {
  EXPECT_EQ(path("Read the file notes.txt."), "notes.txt");
  EXPECT_EQ(path("what is in \"src/main.cc\"?"), "src/main.cc");
  EXPECT_EQ(path("show /etc/hosts"), "/etc/hosts");
  EXPECT_EQ(path("cat ~/x"), "~/x");
  EXPECT_EQ(path("list ./docs/"), "./docs/");
  EXPECT_EQ(path("show the Makefile"), "Makefile");
  EXPECT_EQ(path("open .env now"), ".env");
  EXPECT_EQ(path("save to out.txt: all done"), "out.txt");
}

TEST(FindPath, WhatIsNone) {
  for (const char* text :
       {"3.5 + 4.25", "see https://example.com/a.txt", "he/she and/or", "at 9 a.m. or p.m.", "e.g. this",
        "12/4", "ann@example.com", "The end. Next one.", ""})
    EXPECT_EQ(path(text), "") << text;
}

TEST(FindPath, TellsWhereItStands) {
  const std::string text = "write 'a' to b.txt now";
  const auto found = find_path(text);
  ASSERT_TRUE(found);
  EXPECT_EQ(text.substr(found->begin, found->end - found->begin), "b.txt");
}

TEST(Keywords, WhatAQuestionIsAbout) {
  EXPECT_EQ(keywords_of("When is my dentist appointment?"),
            (std::vector<std::string>{"dentist", "appointment"}));
  EXPECT_EQ(keywords_of("What did I tell you about my sister?"), std::vector<std::string>{"sister"});
  EXPECT_EQ(keywords_of("What's my wife's favourite colour?"),
            (std::vector<std::string>{"wife", "favourite", "colour"}));
  EXPECT_TRUE(keywords_of("what do you know about me?").empty());
}

TEST(Sentences, LinesStampsAndAbbreviations) {
  EXPECT_EQ(
      sentences_of("# Memory\n\n- my dentist is on Friday at 9. Bring the card!\n[10:00:01] read notes.txt"),
      (std::vector<std::string>{"Memory", "my dentist is on Friday at 9.", "Bring the card!",
                                "read notes.txt"}));
  EXPECT_EQ(sentences_of("The train leaves at 8.30 from platform 4"),
            std::vector<std::string>{"The train leaves at 8.30 from platform 4"});
}

TEST(Masked, PathsAndNumbers) {
  EXPECT_EQ(masked("Show me what is in config/settings.json"), "Show me what is in file.txt");
  EXPECT_EQ(masked("What is 17*23.5?"), "What is 7*7?");
  EXPECT_EQ(masked("put 12 into 'a.txt'!"), "put 7 into 'file.txt'!");
}

TEST(Names, BecomeWords) {
  EXPECT_EQ(words_of_name("get_weather"), "get weather");
  EXPECT_EQ(words_of_name("getWeatherNow"), "get weather now");
  EXPECT_EQ(words_of_name("mcp:files.list-all"), "mcp files list all");
}

TEST(PlainQuotes, CurlyOnesAreReplaced) { EXPECT_EQ(plain_quotes("\u201cdon\u2019t\u201d"), "\"don't\""); }

TEST(Values, LoseWhatIsAroundThem) {
  EXPECT_EQ(value_of("  'hello world'. "), "hello world");
  EXPECT_EQ(value_of(": blue42!"), "blue42");
  EXPECT_EQ(value_of("?!"), "");
}

RC_GTEST_PROP(WordsProperty, AnyTextIsSafe, (const std::string& text)) {
  (void)keywords_of(text);
  (void)sentences_of(text);
  (void)masked(text);
  (void)value_of(text);
  if (const auto found = find_path(text)) RC_ASSERT(found->begin < found->end && found->end <= text.size());
}

}  // namespace
}  // namespace chela::infer
