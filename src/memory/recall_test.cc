#include "memory/recall.h"

#include <rapidcheck.h>

#include "base/strings.h"
#include "base/utf8.h"
#include "memory/memory_fixture.h"
#include "memory/words.h"

namespace chela::memory {
namespace {

class RecallTest : public MemoryTest {
 protected:
  std::vector<std::string> ask(std::string message, size_t limit = 3) {
    const auto lines = wait(recall(*workspace, scope, std::move(message), limit));
    EXPECT_TRUE(lines) << lines.error().text();
    return lines ? *lines : std::vector<std::string>{};
  }
};

TEST_F(RecallTest, FindsWhatAQuestionIsAbout) {
  put("MEMORY.md", "# Facts\n\n- my dentist is on Friday at 9\n\n- my sister is called Eva\n");
  EXPECT_EQ(ask("When is my dentist?"), std::vector<std::string>{"my dentist is on Friday at 9"});
  EXPECT_EQ(ask("what was my sister's name again"), std::vector<std::string>{"my sister is called Eva"});
  EXPECT_EQ(ask("Do I have any dentists?"), std::vector<std::string>{"my dentist is on Friday at 9"});
  EXPECT_TRUE(ask("Tell me about whales").empty());
}

TEST_F(RecallTest, MessagesWithoutASubjectRecallNothing) {
  put("MEMORY.md", "what is the time when you are here, I work full time and say hello to you all day");
  for (const char* message : {"What is the time?", "Hello!", "how are you", "thanks, that's all", "", "?",
                              "\xE2\x80\x9CWhat now?\xE2\x80\x9D"}) {
    EXPECT_TRUE(ask(message).empty()) << message;
  }
}

TEST_F(RecallTest, DailyLogsSayTheDay) {
  put("daily/2026-01-02.md",
      "[10:00:00] call the bank tomorrow\n[11:00:00] buy bank notes (noted 2026-01-01)");
  EXPECT_EQ(ask("What about the bank?"),
            (std::vector<std::string>{"call the bank tomorrow (noted 2026-01-02)",
                                      "buy bank notes (noted 2026-01-01)"}));
}

TEST_F(RecallTest, InstructionsAreNotMemories) {
  for (const char* path : {"SOUL.md", "USER.md", "AGENTS.md", "IDENTITY.md", "TOOLS.md", "BOOTSTRAP.md",
                           "HEARTBEAT.md", "README.md"})
    put(path, "the dentist of the prompt");
  put("notes/SOUL.md", "the dentist of a note");
  EXPECT_EQ(ask("dentist"), std::vector<std::string>{"the dentist of a note"});
}

TEST_F(RecallTest, BetterLinesComeFirstAndNoiseStaysOut) {
  put("a.md",
      "the blue car is parked\nthe blue car of Eva needs new winter tyres\nwinter is cold\nthe blue car of "
      "Eva needs new winter tyres");
  EXPECT_EQ(ask("Does Eva's blue car have winter tyres?"),
            (std::vector<std::string>{"the blue car of Eva needs new winter tyres"}));
  EXPECT_EQ(ask("blue winter", 5).size(), 3u);
  EXPECT_EQ(ask("blue winter", 1).size(), 1u);
}

TEST_F(RecallTest, LongLinesAreCutAroundTheWord) {
  std::string before;
  for (int i = 0; i < 200; ++i) before += "vorher \xC3\xA4 ";
  put("a.md", before + "the dentist is on Friday " + before);
  const std::vector<std::string> lines = ask("dentist");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].contains("the dentist is on Friday"));
  EXPECT_LE(utf8::length(lines[0]), kMaxRecallChars);
  EXPECT_TRUE(utf8::valid(lines[0]));
}

TEST(Words, SplitAtEverythingThatIsNoLetter) {
  EXPECT_EQ(words_of("Don't \xE2\x80\x9Cstop\xE2\x80\x9D\xE2\x80\x94"
                     "e-mail me@x.org, 17*23!"),
            (std::vector<std::string>{"don", "t", "stop", "e", "mail", "me", "x", "org", "17", "23"}));
  EXPECT_EQ(words_of("Stra\xC3\x9F"
                     "e \xE3\x80\x8C\xE6\x97\xA5\xE6\x9C\xAC\xE3\x80\x8D"),
            (std::vector<std::string>{"stra\xC3\x9F"
                                      "e",
                                      "\xE6\x97\xA5\xE6\x9C\xAC"}));
  EXPECT_EQ(keywords_of("Remember that my dentist is on Friday at 9."),
            (std::vector<std::string>{"dentist", "friday", "9"}));
  EXPECT_TRUE(keywords_of("What is the time?").empty());
}

TEST(Words, SameWordWithAnotherEnding) {
  for (const auto& [a, b] : {std::pair("dentist", "dentists"),
                             {"meeting", "meet"},
                             {"allergic", "allergy"},
                             {"cat", "cats"},
                             {"parked", "parking"}}) {
    EXPECT_TRUE(same_word(a, b) && same_word(b, a)) << a << " " << b;
  }
  for (const auto& [a, b] : {std::pair("contact", "contract"),
                             {"doctor", "document"},
                             {"car", "card"},
                             {"is", "i"},
                             {"", "s"},
                             {"interest", "internet"}}) {
    EXPECT_FALSE(same_word(a, b) || same_word(b, a)) << a << " " << b;
  }
}

TEST(Words, AnyBytesGiveNonEmptyWordsInOrder) {
  rc::check([] {
    const auto bytes = *rc::gen::arbitrary<std::string>();
    const std::string lower = strings::lower(bytes);
    size_t at = 0;
    for (const std::string& word : words_of(bytes)) {
      RC_ASSERT(!word.empty());
      at = lower.find(word, at);
      RC_ASSERT(at != std::string::npos);
      at += word.size();
    }
  });
}

}  // namespace
}  // namespace chela::memory
