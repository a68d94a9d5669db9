// Words of a request that point to a tool more surely than its general likeness to examples.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/regex.h"
#include "infer/arithmetic.h"
#include "infer/words.h"

namespace chela::infer {

struct Cues {
  bool store = false;       // "remember that ...", "... , don't forget"
  bool daily = false;       // the daily log is meant
  bool all_memory = false;  // "what do you know about me"
  bool question = false;
  bool personal = false;     // my, I, we, remember: a question about the user, not about the world
  bool memory = false;       // names the memory itself
  bool refers_back = false;  // cannot be understood without what was said before
  bool model = false;        // speaks to or of the model: you, your
  bool day = false;          // asks for the time or the date itself
  bool file = false;         // says file, or names one
  bool folder = false;
  bool write_verb = false;
  bool read_verb = false;
  bool json = false;  // holds a JSON object or array, or says JSON
  std::string run;    // what to run: "git status" of "run git status"
  std::string echo;   // what to repeat
  std::optional<PathMention> path;
  std::optional<Arithmetic> arithmetic;
};

// Immutable; finds the cues of one request, whose quotes are plain ones (see plain_quotes in words.h).
class CueFinder {
 public:
  CueFinder();
  Cues find(std::string_view text) const;

 private:
  Regex back_, model_, store_, ask_to_store_, do_you_, question_, personal_, memory_, daily_, all_memory_,
      day_, file_, folder_, write_, read_, json_, run_, echo_;
};

}  // namespace chela::infer
