#pragma once

#include <optional>
#include <string>

#include "agent/dialects/parser.h"
#include "llm/provider.h"

namespace chela::agent {

// Stands between a provider and all that an answer is used for: takes thoughts, marks and calls out of the text that a model writes, while it
// comes. What feed() and finish() let through is, to the byte, the text of the answer. One model call each; lives on the loop.
class AnswerReader {
 public:
  // `tools`: what the model may call.
  explicit AnswerReader(dialects::ToolSet tools, dialects::Unread unread = dialects::Unread::kLeftOut);

  // What may be shown of a delta now. One that resets begins the answer anew.
  llm::Delta feed(const llm::Delta& delta);

  struct Result {
    llm::Delta rest;  // what feed() had not let through yet
    llm::Answer
        answer;  // with the calls of the text, unless it has calls of its own: then these are the ones that count
    dialects::Refused refused = dialects::Refused::kNothing;  // of an answer without calls
  };
  // The provider's answer. The last call.
  Result finish(llm::Answer answer);

 private:
  llm::Delta read(std::string_view text);

  const bool any_tools_;
  dialects::ToolSet tools_;
  const dialects::Unread unread_;
  std::optional<dialects::Parser> parser_;
  std::string raw_;  // as the model wrote it
  std::string thoughts_;
};

// An answer that nobody watched.
AnswerReader::Result read_answer(llm::Answer answer, dialects::ToolSet tools,
                                 dialects::Unread unread = dialects::Unread::kLeftOut);

}  // namespace chela::agent
