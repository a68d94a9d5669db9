#include "tui/line_editor.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace chela::tui {
namespace {

class LineEditorTest : public ::testing::Test {
 protected:
  LineEditor::Outcome type(std::string_view bytes) {
    LineEditor::Outcome last = LineEditor::Outcome::kEdited;
    for (const Key& key : keys_.feed(bytes)) last = editor_.press(key);
    return last;
  }
  std::vector<Candidate> complete(std::string_view line) const {
    std::vector<Candidate> found;
    for (const Candidate& each : known_) {
      if (each.line.starts_with(line)) found.push_back(each);
    }
    return found;
  }
  std::vector<std::string> rows(size_t columns = 20) const {
    std::vector<std::string> out;
    for (const Spans& each : editor_.picture({{.text = "> "}}, columns, Colour::kOn).rows)
      out.push_back(text_of(each));
    return out;
  }

  History history_;
  std::vector<Candidate> known_;
  KeyReader keys_;
  LineEditor editor_{history_, [this](std::string_view line) { return complete(line); }};
};

using Rows = std::vector<std::string>;

TEST_F(LineEditorTest, TypingMovingAndDeleting) {
  type("hello wrld");
  type(
      "\x1b[D\x1b[D\x1b[D"
      "o");
  EXPECT_EQ(editor_.text(), "hello world");
  type("\x01>\x05<");
  EXPECT_EQ(editor_.text(), ">hello world<");
  type("\x7f\x17");
  EXPECT_EQ(editor_.text(), ">hello ");
  type("\x19");
  EXPECT_EQ(editor_.text(), ">hello world");
  type(
      "\x1b"
      "b\x0b\x01\x1b[3~");
  EXPECT_EQ(editor_.text(), "hello ");
  EXPECT_EQ(type("\r"), LineEditor::Outcome::kSubmitted);
  EXPECT_EQ(editor_.take(), "hello ");
  EXPECT_TRUE(editor_.empty());
}

TEST_F(LineEditorTest, WideAndCombinedCharactersAreOne) {
  type("a日e\xcc\x81");
  type("\x1b[D\x1b[D");
  const Picture picture = editor_.picture({{.text = "> "}}, 20, Colour::kOn);
  EXPECT_EQ(picture.column, 3u);
  type("\x1b[3~");
  EXPECT_EQ(editor_.text(), "ae\xcc\x81");
  type("\x05\x7f");
  EXPECT_EQ(editor_.text(), "a");
}

TEST_F(LineEditorTest, ManyLinesArePastedAsOneInput) {
  type("\x1b[200~one\rtwo\r\nth\x1b[201~ree");
  EXPECT_EQ(editor_.text(), "one\ntwo\nthree");
  EXPECT_EQ(rows(), (Rows{"> one", "  two", "  three"}));
  type("\x1b[A\x1b[A\x01>");
  EXPECT_EQ(editor_.text(), ">one\ntwo\nthree");
  type("\x1b[B\x1b[B!");
  EXPECT_EQ(editor_.text(), ">one\ntwo\nt!hree");
  type("\x1b\r");
  EXPECT_EQ(editor_.text(), ">one\ntwo\nt!\nhree");
}

TEST_F(LineEditorTest, LongLinesTakeSeveralRows) {
  type("abcdefgh");
  EXPECT_EQ(rows(6), (Rows{"> abcd", "efgh"}));
  type("ij");
  const Picture picture = editor_.picture({{.text = "> "}}, 6, Colour::kOn);
  EXPECT_EQ(picture.row, 2u);  // the row is full: the cursor is in the next one
  EXPECT_EQ(picture.column, 0u);
}

TEST_F(LineEditorTest, HistoryGoesByWhatWasTyped) {
  for (const char* each : {"first", "git status", "second", "git log"}) EXPECT_TRUE(history_.add(each));
  type("\x1b[A");
  EXPECT_EQ(editor_.text(), "git log");
  type("\x1b[A\x1b[B\x1b[B");
  EXPECT_EQ(editor_.text(), "");
  type("git\x1b[A\x1b[A");
  EXPECT_EQ(editor_.text(), "git status");
  type("\x1b[A");
  EXPECT_EQ(editor_.text(), "git status");
  type("\x1b[B\x1b[B");
  EXPECT_EQ(editor_.text(), "git");
}

TEST_F(LineEditorTest, TabCompletesAndThenChooses) {
  known_ = {{"/model", "/model", "which model"}, {"/memory", "/memory"}, {"/new", "/new"}};
  type("/n\t");
  EXPECT_EQ(editor_.text(), "/new");
  editor_.clear();
  type("/\t");
  EXPECT_EQ(rows(40), (Rows{"> /", "  /model   which model", "  /memory  ", "  /new     "}));
  type("\t\t");
  EXPECT_EQ(editor_.text(), "/memory");
  type("\x1b[Z");
  EXPECT_EQ(editor_.text(), "/model");
  type("x");
  EXPECT_EQ(rows(), (Rows{"> /modelx"}));
  editor_.clear();
  type("/m\t");
  type("o");
  EXPECT_EQ(rows(), (Rows{"> /model"}));  // "/mo" and the grey rest
  EXPECT_EQ(editor_.text(), "/mo");
  type("\x1b[C");
  EXPECT_EQ(editor_.text(), "/model");
}

TEST_F(LineEditorTest, ATabThatFoundNothingIsMadeGoodUnlessSomethingElseIsTyped) {
  type("/n\t\t");
  editor_.completer_changed();
  EXPECT_EQ(editor_.text(), "/n");
  known_ = {{"/new", "/new"}, {"/next", "/next"}};
  editor_.completer_changed();
  EXPECT_EQ(editor_.text(), "/ne");
  editor_.completer_changed();
  EXPECT_EQ(rows(), Rows{"> /new"}) << "once only: no menu";
  type("\x15/x\t");
  type("y");
  known_ = {{"/xyz", "/xyz"}};
  editor_.completer_changed();
  EXPECT_EQ(editor_.text(), "/xy");
}

TEST_F(LineEditorTest, OnlySoManyCandidatesAreShown) {
  for (size_t i = 0; i < 2 * kMaxCompletions; ++i)
    known_.push_back({.line = "/" + std::to_string(100 + i), .label = std::to_string(100 + i)});
  type("/\t");
  EXPECT_EQ(rows().size(), 1 + kMaxCompletionRows + 1);
  EXPECT_EQ(rows().back(), "  ... " + std::to_string(kMaxCompletions - kMaxCompletionRows) + " more");
  for (size_t i = 0; i < kMaxCompletionRows + 1; ++i) type("\t");
  EXPECT_EQ(editor_.text(), "/" + std::to_string(100 + kMaxCompletionRows));
  EXPECT_EQ(rows()[kMaxCompletionRows], "> " + std::to_string(100 + kMaxCompletionRows) + "  ");
}

TEST_F(LineEditorTest, ASecretIsNeitherShownNorKept) {
  type("half a thought");
  editor_.set_aside(LineEditor::Echo::kNothing);
  type("hunter2");
  EXPECT_EQ(rows(), (Rows{"> "}));
  type("\x15\x19");
  EXPECT_EQ(editor_.text(), "");
  type("hunter2\x1b[A\t");
  EXPECT_EQ(editor_.take(), "hunter2");
  editor_.take_up();
  EXPECT_EQ(editor_.text(), "half a thought");
  type("\x19");
  EXPECT_EQ(editor_.text(), "half a thought");
}

TEST_F(LineEditorTest, KeysThatLeave) {
  EXPECT_EQ(type("\x03"), LineEditor::Outcome::kInterrupt);
  EXPECT_EQ(type("\x04"), LineEditor::Outcome::kEnd);
  EXPECT_EQ(type("a\x01\x04"), LineEditor::Outcome::kEdited);
  EXPECT_EQ(editor_.text(), "");
  EXPECT_EQ(type("\x1a"), LineEditor::Outcome::kSuspend);
  EXPECT_EQ(type("\x0c"), LineEditor::Outcome::kClear);
}

TEST_F(LineEditorTest, InputHasALimit) {
  type(std::string(kMaxTypedBytes, 'x'));
  type("y");
  EXPECT_EQ(editor_.text().size(), kMaxTypedBytes);
}

TEST_F(LineEditorTest, WhatIsPastedCannotSteerTheTerminal) {
  type("\x1b[200~a\x1b[2Jb\x07\x1b[201~");
  EXPECT_EQ(editor_.text(), "a[2Jb");
}

TEST(KeyReader, SequencesMayBeCutAnywhere) {
  const std::string bytes = "a\x1b[A\x1b[1;5C日\x1bOH\x1b[200~p\x1bq\x1b[201~\x1b[99;99z\x03";
  const std::vector<Key> whole = KeyReader().feed(bytes);
  EXPECT_EQ(whole.size(), 7u);
  KeyReader cut;
  std::vector<Key> keys;
  for (const char c : bytes) {
    for (Key& each : cut.feed(std::string(1, c))) keys.push_back(std::move(each));
  }
  EXPECT_EQ(keys, whole);
}

TEST(KeyReader, ALoneEscapeIsAKeyAfterAWhile) {
  KeyReader reader;
  EXPECT_TRUE(reader.feed("\x1b").empty());
  EXPECT_TRUE(reader.undecided());
  EXPECT_EQ(reader.settle(), (std::vector<Key>{{.kind = Key::Kind::kEscape}}));
  EXPECT_TRUE(reader.settle().empty());
}

TEST(KeyReader, LimitsOfSequencesAndPastes) {
  KeyReader reader;
  EXPECT_TRUE(reader.feed("\x1b[" + std::string(kMaxKeySequenceBytes - 2, '1')).empty());
  EXPECT_EQ(reader.feed("a").back().text, "a");
  reader.feed("\x1b[200~" + std::string(2 * kMaxTypedBytes, 'x'));
  EXPECT_EQ(reader.feed("\x1b[201~").at(0).text.size(), kMaxTypedBytes);
}

}  // namespace
}  // namespace chela::tui
