#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chela::tui {

// What a person did on the keyboard.
struct Key {
  enum class Kind {
    kText,   // a character, or what was pasted
    kPaste,  // pasted text: line ends in it send nothing
    kEnter,
    kNewLine,  // Alt-Enter, Ctrl-J: a line end inside the input
    kTab,
    kBackTab,
    kBackspace,
    kDelete,
    kLeft,
    kRight,
    kWordLeft,
    kWordRight,
    kUp,
    kDown,
    kHome,
    kEnd,
    kEscape,
    kControl,  // text is the letter: Ctrl-C is "c"
    kAlt,      // text is the letter: Alt-d is "d"; "" is backspace
  } kind;
  std::string text = {};
  bool operator==(const Key&) const = default;
};

// Makes keys of the bytes that a terminal sends; they may be cut anywhere. What it does not know is left out.
class KeyReader {
 public:
  std::vector<Key> feed(std::string_view bytes);
  // True while an escape may be the key or the beginning of a sequence: after kEscapeDelay settle() says that it is the key.
  bool undecided() const { return buffer_ == "\x1b"; }
  std::vector<Key> settle();

 private:
  bool take();  // one key off the buffer; false when more bytes are needed
  bool take_sequence();
  bool take_paste();
  void add(Key::Kind kind, std::string text = {}) {
    keys_.push_back({.kind = kind, .text = std::move(text)});
  }

  std::string buffer_;
  std::string paste_;
  bool pasting_ = false;
  std::vector<Key> keys_;
};

}  // namespace chela::tui
