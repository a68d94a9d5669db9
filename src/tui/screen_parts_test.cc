#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "os/file.h"
#include "testing/test_dir.h"
#include "tui/glyphs.h"
#include "tui/history.h"
#include "tui/painter.h"
#include "tui/terminal.h"

namespace chela::tui {
namespace {

TEST(Glyphs, Widths) {
  EXPECT_EQ(columns_of("abc"), 3u);
  EXPECT_EQ(columns_of("日本"), 4u);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1u);
  EXPECT_EQ(columns_of("\xf0\x9f\xa6\x80"), 2u);
  EXPECT_EQ(columns_of("\xff\xfe"), 2u);
  EXPECT_EQ(last_glyph("ae\xcc\x81").bytes, "e\xcc\x81");
  EXPECT_EQ(last_glyph("日").bytes, "日");
  EXPECT_EQ(last_glyph("a\x80").bytes, "\x80");
  EXPECT_EQ(fitting("日本語", 5), "日本");
  EXPECT_EQ(shortened("日本語", 5), "日本…");
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(one_line(" a\n\t b \x1b"), "a b");
}

TEST(Painter, TheLiveAreaIsPaintedOverItself) {
  Painter painter({.columns = 10, .rows = 5}, Colour::kOff);
  const std::string first =
      painter.paint({}, {.rows = {{{.text = "one"}}, {{.text = "two"}}}, .row = 1, .column = 2});
  EXPECT_EQ(first, "\x1b[?25l\r\x1b[Jone\r\ntwo\r\x1b[2C\x1b[?25h");
  const std::string second =
      painter.paint({{{.text = "stays"}}}, {.rows = {{{.text = "x"}}}, .row = 0, .column = 0});
  EXPECT_EQ(second, "\x1b[?25l\r\x1b[1A\x1b[Jstays\r\nx\r\x1b[?25h");
  EXPECT_EQ(painter.erase(), "\r\x1b[J");
}

TEST(Painter, OfTooHighAnAreaTheCursorsPartIsShown) {
  Painter painter({.columns = 10, .rows = 3}, Colour::kOff);
  Picture live;
  for (int i = 0; i < 6; ++i) live.rows.push_back({{.text = std::to_string(i)}});
  live.row = 5;
  EXPECT_EQ(painter.paint({}, live), "\x1b[?25l\r\x1b[J4\r\n5\r\x1b[?25h");
  live.row = 1;
  EXPECT_EQ(painter.paint({}, live), "\x1b[?25l\r\x1b[1A\x1b[J1\r\n2\x1b[1A\r\x1b[?25h");
}

TEST(Painter, AfterAResizeLongRowsAreHigher) {
  Painter painter({.columns = 20, .rows = 24}, Colour::kOff);
  painter.paint({}, {.rows = {{{.text = "0123456789abcdef"}}, {{.text = "x"}}}, .row = 1, .column = 0});
  painter.resize({.columns = 8, .rows = 24});
  EXPECT_EQ(painter.erase(), "\r\x1b[2A\x1b[J");
}

TEST(History, IsThereTheNextTime) {
  testing::TestDir dir;
  const std::string file = dir.path() + "/history";
  {
    Result<History> history = History::open(file);
    ASSERT_TRUE(history);
    for (const char* each : {"one", "one", "two\nlines \\n", " secret", "", "  "})
      EXPECT_TRUE(history->add(each));
    EXPECT_TRUE(history->add(std::string(kMaxHistoryEntryBytes + 1, 'x')));
  }
  struct stat info{};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const Result<History> again = History::open(file);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->entries(), (std::deque<std::string>{"one", "two\nlines \\n"}));
}

TEST(History, HasALimitInMemoryAndOnDisk) {
  testing::TestDir dir;
  const std::string file = dir.path() + "/history";
  Result<History> history = History::open(file);
  ASSERT_TRUE(history);
  for (size_t i = 0; i < 3 * kMaxHistoryEntries; ++i) ASSERT_TRUE(history->add("entry " + std::to_string(i)));
  EXPECT_EQ(history->entries().size(), kMaxHistoryEntries);
  const Result<std::string> text = os::read_file(file, 1 << 20);
  ASSERT_TRUE(text);
  EXPECT_LE(static_cast<size_t>(std::count(text->begin(), text->end(), '\n')), 2 * kMaxHistoryEntries);
  EXPECT_EQ(History::open(file)->entries(), history->entries());
}

TEST(Terminal, NeedsATerminalAndKnowsItsAbilities) {
  EXPECT_EQ(Terminal::open(-1, -1).error().code, Code::kUnsupported);
  EXPECT_EQ(abilities("xterm", "").screen, Abilities::Screen::kPainted);
  EXPECT_EQ(abilities("dumb", "").screen, Abilities::Screen::kPlain);
  EXPECT_EQ(abilities("", "").screen, Abilities::Screen::kPlain);
  EXPECT_EQ(abilities("xterm", "1").colour, Colour::kOff);
}

}  // namespace
}  // namespace chela::tui
