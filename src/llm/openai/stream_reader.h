#pragma once

#include <string>
#include <string_view>

#include "llm/openai/answer_builder.h"
#include "net/sse.h"

namespace chela::llm::openai {

// Turns the body of a successful response into an answer, however its bytes are cut. What it is shows at its first byte: '{' begins one
// whole completion, anything else is a stream of events; content types are not to be trusted.
class StreamReader final : public wire::AnswerReader {
 public:
  StreamReader(wire::ErrorContext errors, DeltaSink sink);

  Result<> feed(std::string_view bytes) override;
  bool finished() const override { return builder_.finished(); }
  bool done() const override { return done_; }
  bool streamed() const override { return streamed_; }
  size_t said() const override { return builder_.bytes(); }
  bool called() const override { return builder_.called(); }
  Result<Answer> finish() override;

 private:
  enum class Form { kUndecided, kEvents, kWhole };

  Result<> feed_events(std::string_view bytes);
  Result<> on_event(const net::SseEvent& event);
  Result<json::Value> parse(std::string_view text) const;
  void pass_on(const Delta& delta);

  wire::ErrorContext errors_;
  DeltaSink sink_;
  AnswerBuilder builder_;
  net::SseParser events_;
  std::string whole_;
  Form form_ = Form::kUndecided;
  bool done_ = false;
  bool streamed_ = false;
};

}  // namespace chela::llm::openai
