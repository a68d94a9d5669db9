#pragma once

#include <string>
#include <string_view>

#include "llm/openai/answer_builder.h"
#include "net/sse.h"

namespace chela::llm::openai {

// Turns the body of a successful response into an answer, however its bytes are cut. What it is shows at its first byte: '{' begins one
// whole completion, anything else is a stream of events; content types are not to be trusted. Pure: no sockets, no time.
class StreamReader {
 public:
  StreamReader(ErrorContext errors, DeltaSink sink);

  // Calls the sink for each new piece of text. After an error the reader is of no more use.
  Result<> feed(std::string_view bytes);

  bool finished() const { return builder_.finished(); }  // the answer is whole; usage may still come
  bool done() const { return done_; }                    // the stream said that nothing more comes
  bool streamed() const { return streamed_; }            // text has been passed on

  // The answer, at the end of the body. kUpstream when the body was cut or was no answer.
  Result<Answer> finish();

 private:
  enum class Form { kUndecided, kEvents, kWhole };

  Result<> feed_events(std::string_view bytes);
  Result<> on_event(const net::SseEvent& event);
  Result<json::Value> parse(std::string_view text) const;
  void pass_on(const Delta& delta);

  ErrorContext errors_;
  DeltaSink sink_;
  AnswerBuilder builder_;
  net::SseParser events_;
  std::string whole_;
  Form form_ = Form::kUndecided;
  bool done_ = false;
  bool streamed_ = false;
};

}  // namespace chela::llm::openai
