#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialects/reader.h"

namespace chela::agent::dialects {

// Takes the text that a model streams apart: into what people read and into tool calls, in whichever notation the model writes them.
// Text comes out as soon as it cannot be a call, thoughts and protocol never do. However the text is cut, the result is the same.
// Time is linear; what is held is at most kMaxCallBytes and the text itself. Lives on one thread.
class Parser {
 public:
  explicit Parser(ToolSet tools, Final final = Final::kReplaces, Unread unread = Unread::kLeftOut);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // The text that can be shown now.
  std::string feed(std::string_view piece);
  // What the model thought since the last call; never cut inside a character of the pieces.
  std::string thoughts() { return out_.take_thoughts(); }

  struct Result {
    std::string rest;              // the text that feed() had not given yet
    std::string text;              // all of the text; with a <final> that replaces, only what is inside
    std::vector<Call> calls = {};  // in the order in which they were written
    Refused refused = Refused::kNothing;  // what was meant as a call and is none
  };
  // The text has ended. The last call.
  Result finish(Ending ending);

 private:
  ToolSet tools_;
  Input in_;
  TextOut out_;
  Reader reader_;
  Script script_;
};

// A whole text at once.
Parser::Result parse(std::string_view text, ToolSet tools);

}  // namespace chela::agent::dialects
