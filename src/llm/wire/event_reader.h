#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "llm/wire/answer_reader.h"
#include "llm/wire/limits.h"
#include "llm/wire/provider_error.h"
#include "net/sse.h"

namespace chela::llm::wire {

// The reader of protocols whose answers are JSON events: takes the bytes apart, keeps the answer and its limits. What the events mean
// is the business of the derived class.
class EventReader : public AnswerReader {
 public:
  Result<> feed(std::string_view bytes) override;
  Result<Answer> finish() override;
  bool finished() const final { return finished_; }
  bool done() const final { return done_; }
  bool streamed() const final { return streamed_; }
  size_t said() const final { return bytes_; }
  bool called() const final { return !answer_.tool_calls.empty(); }

 protected:
  // kEvents: text/event-stream, or one document if the first byte is '{' or '['. kLines: one JSON text a line.
  enum class Framing { kEvents, kLines };
  EventReader(ErrorContext errors, DeltaSink sink, Framing framing)
      : errors_(std::move(errors)), sink_(std::move(sink)), framing_(framing), events_(kMaxEventBytes) {}

  // One event; `name` is "" where the framing has none.
  virtual Result<> on_event(std::string_view name, const json::Value& event) = 0;
  // The whole body as one document, of servers that do not stream.
  virtual Result<> on_document(const json::Value& document) { return on_event("", document); }
  // The whole answer is there: the last chance to add to it.
  virtual void complete(Answer&) {}

  // Parses the text of one event and hands it on.
  Result<> read_event(std::string_view name, std::string_view text);

  Result<> add_text(std::string_view text);
  Result<> add_reasoning(std::string_view text);
  // A new call under a key of the protocol's choice, and more of one: fragments of unknown keys are passed over.
  Result<> begin_call(std::int64_t key, std::string id, std::string name);
  Result<> add_arguments(std::int64_t key, std::string_view piece);
  Result<> set_arguments(std::int64_t key, std::string whole);
  // Counts what is kept beside text and calls.
  Result<> count(size_t bytes);

  void finish_with(FinishReason reason) {
    finished_ = true;
    answer_.finish_reason = reason;
  }
  void end() { done_ = true; }

  const ErrorContext& errors() const { return errors_; }
  Answer& answer() { return answer_; }
  size_t call_count() const { return answer_.tool_calls.size(); }

 private:
  Result<> feed_events(std::string_view bytes);
  Result<> feed_lines(std::string_view bytes);
  Result<> keep_document(std::string_view bytes);
  Result<json::Value> parse(std::string_view text) const;
  void pass_on(Delta delta);
  ToolCall* call_of(std::int64_t key);

  ErrorContext errors_;
  DeltaSink sink_;
  Framing framing_;
  net::SseParser events_;
  std::string rest_;  // of a line, or the document
  Answer answer_;
  std::vector<std::int64_t> keys_;  // of the calls
  size_t bytes_ = 0;
  bool decided_ = false;
  bool document_ = false;
  bool finished_ = false;
  bool done_ = false;
  bool streamed_ = false;
};

// A number of tokens; what is missing or negative is none.
std::int64_t token_count(const json::Value& usage, std::string_view key);

// A member that is there and not null.
const json::Value* given(const json::Value& object, std::string_view key);

}  // namespace chela::llm::wire
