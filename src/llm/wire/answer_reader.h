#pragma once

#include <cstddef>
#include <string_view>

#include "llm/provider.h"

namespace chela::llm::wire {

// Turns the body of a successful response into an answer, however its bytes are cut. Pure: no sockets, no time.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;

  // Calls the sink for each new piece of text. After an error the reader is of no more use.
  virtual Result<> feed(std::string_view bytes) = 0;

  virtual bool finished() const = 0;  // the answer is whole; usage may still come
  virtual bool done() const = 0;      // the stream said that nothing more comes
  virtual bool streamed() const = 0;  // text has been passed on
  virtual size_t said() const = 0;    // bytes of text, thoughts and calls so far
  virtual bool called() const = 0;    // the call of a tool has begun

  // The answer, at the end of the body. kUpstream when the body was cut or was no answer.
  virtual Result<Answer> finish() = 0;
};

// Makes an answer regular: no empty calls, arguments never "", a finish reason that fits.
void make_regular(Answer& answer);

// What an answer past kMaxModelAnswerBytes or kMaxAnswerCalls gets.
Error answer_too_large(std::string_view server);

}  // namespace chela::llm::wire
