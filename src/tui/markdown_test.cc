#include "tui/markdown.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/limits.h"
#include "tui/glyphs.h"
#include "tui/inline_markdown.h"

namespace chela::tui {
namespace {

std::string shown(const std::vector<Spans>& rows) {
  std::string out;
  for (const Spans& each : rows) out += text_of(each) + "\n";
  return out;
}

std::string render(std::string_view text, size_t columns = 40, Colour colour = Colour::kOn,
                   size_t piece = SIZE_MAX) {
  Markdown markdown(columns, colour);
  std::string out;
  while (!text.empty()) {
    out += shown(markdown.feed(text.substr(0, piece)));
    text.remove_prefix(std::min(piece, text.size()));
  }
  return out + shown(markdown.finish());
}

Face face_of(std::string_view markdown, std::string_view word) {
  Markdown renderer(80, Colour::kOn);
  std::vector<Spans> rows = renderer.feed(markdown);
  for (Spans& each : renderer.finish()) rows.push_back(std::move(each));
  for (const Spans& row : rows) {
    for (const Span& each : row) {
      if (each.text.contains(word)) return each.face;
    }
  }
  ADD_FAILURE() << "no " << word;
  return kPlain;
}

TEST(Markdown, Blocks) {
  EXPECT_EQ(render("# Title\ntext\n\n\n\nmore\n"), "Title\ntext\n\nmore\n");
  EXPECT_EQ(render("- one\n  - two\n12. twelve\n* [x] done"), "• one\n  • two\n12. twelve\n• [x] done\n");
  EXPECT_EQ(render("> quoted\n>> twice\n>"), "│ quoted\n│ │ twice\n│ \n");
  EXPECT_EQ(render("> - item"), "│ • item\n");
  EXPECT_EQ(render("---", 5), "─────\n");
  EXPECT_EQ(render("#no heading\n-no item\n1.no"), "#no heading\n-no item\n1.no\n");
}

TEST(Markdown, LongLinesWrapWithTheirIndentation) {
  EXPECT_EQ(render("one two three four", 10), "one two\nthree four\n");
  EXPECT_EQ(render("- one two three", 10), "• one two\n  three\n");
  EXPECT_EQ(render("> one two three", 10), "│ one two\n│ three\n");
  EXPECT_EQ(render("abcdefghijklmnopqrstuvwxyz", 10), "abcdefghij\nklmnopqrst\nuvwxyz\n");
  EXPECT_EQ(render("日本語の文章です", 10), "日本語の文\n章です\n");
  EXPECT_EQ(render("e\xcc\x81"
                   "e\xcc\x81"
                   "e\xcc\x81 ab",
                   4),
            "e\xcc\x81"
            "e\xcc\x81"
            "e\xcc\x81\nab\n");
}

TEST(Markdown, CodeIsShownAsItIs) {
  EXPECT_EQ(
      render("```cpp\nint *a = **b; // a very long line that is not wrapped at all\n\n  # x\n```\nend", 12),
      "── cpp ─────\nint *a = **b; // a very long line that is not wrapped at all\n\n  # "
      "x\n────────────\nend\n");
  EXPECT_EQ(render("  ~~~\n  a\n    b\n  ~~~", 4), "────\na\n  b\n────\n");
  EXPECT_EQ(render("```\nnever closed", 4), "────\nnever closed\n────\n");
  EXPECT_EQ(render("````\n```\n````", 4), "────\n```\n────\n");
}

TEST(Markdown, Inline) {
  EXPECT_EQ(render("a **b** *c* _d_ ***e*** ~~f~~ `g*` snake_case_name 2 * 3 * 4"),
            "a b c d e f g* snake_case_name 2 * 3 * 4\n");
  EXPECT_EQ(face_of("a **b** c", "b"), kBold);
  EXPECT_EQ(face_of("a *b* c", "b"), kItalic);
  EXPECT_EQ(face_of("**x *b* y**", "b"), kBold | kItalic);
  EXPECT_EQ(face_of("~~b~~", "b"), kStrike);
  EXPECT_EQ(face_of("`b`", "b"), kCyan);
  EXPECT_EQ(face_of("# b", "b"), kBold | kUnderline);
  EXPECT_EQ(render("**open and \\*escaped\\* `tick"), "**open and *escaped* `tick\n");
  EXPECT_EQ(render("[a *b*](https://x.org) ![pic](p.png) <https://y.org>", 80),
            "a b (https://x.org) pic (p.png) https://y.org\n");
  EXPECT_EQ(render("[a](b [c] ](d) [e](f(g) <notalink>", 80), "[a](b [c] ](d) [e](f(g) <notalink>\n");
}

TEST(Markdown, WithoutColourTheMarksStay) {
  EXPECT_EQ(render("# T\n**b** `c`\n- i\n> q", 40, Colour::kOff), "# T\n**b** `c`\n- i\n> q\n");
  EXPECT_EQ(paint(inline_markdown("**b**", kPlain, Colour::kOff), Colour::kOff), "**b**");
}

TEST(Markdown, Tables) {
  const std::string table = "| a | long name |\n|---|---:|\n| one | 1 |\n| **two** | 22 |\nafter";
  EXPECT_EQ(render(table), "a   │ long name\n────┼──────────\none │         1\ntwo │        22\nafter\n");
  EXPECT_EQ(render("| a | b |\nno table | here"), "| a | b |\nno table | here\n");
  EXPECT_EQ(render("a | b\n--|--\n1 | 2"), "a   │ b\n────┼────\n1   │ 2\n");
  EXPECT_EQ(render("|a|b|\n|-|-|\n|one two three|four five six|", 15),
            "a      │ b\n───────┼───────\none    │ four\ntwo    │ five\nthree  │ six\n");
}

TEST(Markdown, ATableHasSoManyColumns) {
  const auto row_of = [](size_t columns, const std::string& prefix) {
    std::string row = "|";
    for (size_t i = 0; i < columns; ++i) row += (prefix.empty() ? "-" : prefix + std::to_string(i)) + "|";
    return row + "\n";
  };
  constexpr size_t kMany = kMaxMarkdownColumns + 2;
  const std::string text = render(row_of(kMany, "h") + row_of(kMany, "") + row_of(kMany, "c"), 4000);
  for (const char* prefix : {"h", "c"}) {
    EXPECT_NE(text.find(prefix + std::to_string(kMaxMarkdownColumns - 1)), std::string::npos) << text;
    EXPECT_EQ(text.find(prefix + std::to_string(kMaxMarkdownColumns)), std::string::npos) << text;
  }
}

TEST(Markdown, OpenMarksAndQuotesNestSoDeep) {
  const auto struck = [](size_t inner_marks) {
    std::string line = "~~x ";
    for (size_t i = 0; i < inner_marks; ++i) line += "*y ";
    return render(line + "z~~", 400).find("~~") == std::string::npos;
  };
  EXPECT_TRUE(struck(kMaxEmphasisDepth - 1));
  EXPECT_FALSE(struck(kMaxEmphasisDepth));  // the outermost one is forgotten

  std::string bars;
  for (size_t i = 0; i < kMaxQuoteDepth; ++i) bars += "│ ";
  EXPECT_EQ(render(std::string(kMaxQuoteDepth, '>') + "x"), bars + "x\n");
  EXPECT_EQ(render(std::string(kMaxQuoteDepth + 2, '>') + "x"), bars + ">>x\n");
}

TEST(Markdown, ALongTableIsNotHeldBackForEver) {
  Markdown markdown(40, Colour::kOn);
  markdown.feed("| a | b |\n|---|---|\n");
  size_t rows = 0;
  for (size_t bytes = 0; bytes < 3 * kMaxMarkdownTableBytes; bytes += 15)
    rows += markdown.feed("| one | two |\n").size();
  EXPECT_GT(rows, 2 * kMaxMarkdownTableBytes / 15);
  EXPECT_EQ(shown(markdown.feed("| x | y |\nend\n")), "x   │ y\nend\n");
}

TEST(Markdown, ALongLineIsNotHeldBackForEver) {
  Markdown markdown(40, Colour::kOn);
  EXPECT_FALSE(markdown.feed(std::string(kMaxMarkdownLineBytes + 1, 'x')).empty());
  EXPECT_EQ(shown(markdown.finish()), "x\n");
  std::string words;
  while (words.size() <= kMaxMarkdownLineBytes) words += "word ";
  for (const Spans& row : markdown.feed(words)) EXPECT_TRUE(text_of(row).ends_with("word")) << text_of(row);
}

TEST(Markdown, WhatIsNotFinalCanBeLookedAt) {
  Markdown markdown(40, Colour::kOn);
  EXPECT_TRUE(markdown.feed("done\nhalf a **li").size() == 1);
  EXPECT_EQ(shown(markdown.tail()), "half a **li\n");
  markdown.feed("ne**");
  EXPECT_EQ(shown(markdown.tail()), "half a line\n");
  EXPECT_TRUE(markdown.feed(" \xe6\x97").empty());
  EXPECT_EQ(shown(markdown.tail()), "half a line\n");
  EXPECT_EQ(shown(markdown.feed("\xa5\n")), "half a line 日\n");
  EXPECT_TRUE(markdown.empty() && markdown.tail().empty());
}

TEST(Markdown, NothingSteersTheTerminal) {
  const std::string out = render(
      "a\x1b[2Jb\x07 \xc2\x9b"
      "c \xe2\x80\xae"
      "d `\x1b]0;x\x07`\n```\n\x1b[31m\t\x7f|\n```\xff");
  for (const char c : out) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  EXPECT_EQ(out.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(out.find("\xe2\x80\xae"), std::string::npos);
}

TEST(Markdown, HowTheTextIsCutChangesNothing) {
  rc::check([](const std::vector<std::uint8_t>& choices) {
    static constexpr std::string_view kParts[] = {
        "**", "*",     "_",    "`",    "```",    "\n",      "\n\n", "| a | b |", "|---|---|", "- ", "> ",
        "# ", "word ", "日本", "\xe6", "[x](y)", "\x1b[2J", "~~~",  "\t",        "12. ",      "\\", "---"};
    std::string text;
    for (const std::uint8_t each : choices) text += kParts[each % std::size(kParts)];
    const std::string whole = render(text, 20);
    RC_ASSERT(render(text, 20, Colour::kOn, 1) == whole);
    RC_ASSERT(render(text, 20, Colour::kOn, 7) == whole);
  });
}

TEST(Markdown, RowsFit) {
  rc::check([](const std::string& text) {
    Markdown markdown(20, Colour::kOn);
    std::vector<Spans> rows = markdown.feed(text);
    for (const Spans& each : rows)
      RC_ASSERT(columns_of(each) <= 20u || text.contains("```") || text.contains("~~~") ||
                text.contains('|'));
  });
}

}  // namespace
}  // namespace chela::tui
