#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace chela::agent::dialects {

// What <final> does with the text in front of it: whoever has shown that cannot take it back.
enum class Final { kReplaces, kFollows };

// What becomes of what was meant as a call and is none, and of white space around the answer. Shown: nothing is left out but calls, thoughts
// and the tokens of a protocol; without any tools every mark of a call is text.
enum class Unread { kLeftOut, kShown };

// The text that people read: what is left of an answer without protocol and thoughts. White space in front of the text and behind
// it is left out, so the end of what was added is held back while it is white space. With Unread::kShown only what stands beside something
// that was taken out is.
class TextOut {
 public:
  explicit TextOut(Final final = Final::kReplaces, Unread unread = Unread::kLeftOut)
      : policy_(final), unread_(unread) {}

  void add(std::string_view text);
  // A call was taken out: what is around it becomes two lines.
  void cut_block();
  // Something was taken out of a text that goes on; at most one empty line is left there.
  void cut_inside();
  // From the first <final> on only what is inside counts, and with kReplaces nothing that was there before.
  void begin_final();
  void end_final();

  // The text has ended.
  void end();

  // A thought: what people do not read.
  void think(std::string_view text) { thoughts_ += text; }

  // No text yet, but for white space.
  bool blank() const { return all_.empty(); }
  // What was released since the last call.
  std::string take();
  // All of it. After a <final> that replaces this is no longer what take() gave.
  std::string& all() { return all_; }
  std::string take_thoughts() { return std::exchange(thoughts_, {}); }

 private:
  void add_space(std::string_view space);
  void release(std::string_view text);
  void release_held();

  // White space that comes now is a part of the text, wherever it ends.
  bool keeps_space() const { return unread_ == Unread::kShown && seam_ == Seam::kNone; }

  Final policy_;
  Unread unread_;
  std::string all_;
  std::string thoughts_;  // that nobody took yet
  size_t taken_ = 0;
  std::string fresh_;  // what a <final> leaves behind that nobody took yet
  std::string held_;   // white space
  enum class Run { kHeld, kReleased, kDropped } run_ = Run::kHeld;  // the white space that is being added
  enum class Seam { kNone, kInside, kBlock } seam_ = Seam::kNone;
  enum class Place { kNoFinal, kInside, kOutside } place_ = Place::kNoFinal;
};

}  // namespace chela::agent::dialects
