#pragma once

#include <string>
#include <string_view>

namespace chela::agent::dialects {

// The text that people read: what is left of an answer without protocol and thoughts. White space in front of the text and behind
// it is left out, so the end of what was added is held back while it is white space.
class TextOut {
 public:
  void add(std::string_view text);
  // A call was taken out: what is around it becomes two lines.
  void cut_block();
  // Something was taken out of a text that goes on; at most one empty line is left there.
  void cut_inside();
  // From the first <final> on only what is inside counts, and nothing that was there before.
  void begin_final();
  void end_final();

  // No text yet, but for white space.
  bool blank() const { return all_.empty(); }
  // What was released since the last call.
  std::string take();
  // All of it. After <final> this is no longer what take() gave.
  std::string& all() { return all_; }

 private:
  void add_space(std::string_view space);
  void release(std::string_view text);
  void release_held();

  std::string all_;
  size_t taken_ = 0;
  std::string fresh_;  // what a <final> leaves behind that nobody took yet
  std::string held_;   // white space
  enum class Run { kHeld, kReleased, kDropped } run_ = Run::kHeld;  // the white space that is being added
  enum class Seam { kNone, kInside, kBlock } seam_ = Seam::kNone;
  enum class Final { kNone, kInside, kOutside } final_ = Final::kNone;
};

}  // namespace chela::agent::dialects
