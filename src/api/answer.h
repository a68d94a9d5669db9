#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "llm/provider.h"
#include "op/operation.h"

// Answers of agents and models, before an API gives them its shape.
namespace chela::api {

// What all parts of one answer share.
struct AnswerHead {
  std::string id;            // letters and digits; each API puts its prefix in front
  std::int64_t created = 0;  // seconds
  std::string model;         // as the client named it, or the one that answered
  std::string thread = {};   // of an agent's answer
};

// The end of an answer.
struct AnswerEnd {
  llm::FinishReason reason = llm::FinishReason::kStop;
  llm::Usage usage = {};
  std::optional<json::Value> approval = std::nullopt;  // a call that waits for a person
};

struct WholeAnswer {
  std::string text;
  std::string reasoning = {};
  std::vector<llm::ToolCall> calls = {};
  AnswerEnd end = {};
};

// Writes one answer as a stream of events. The stream begins with the first of them; until then an error can still be an HTTP status.
// A failed write is kept and stops all later ones.
class AnswerWriter {
 public:
  explicit AnswerWriter(op::EventSink& sink) : sink_(sink) {}
  virtual ~AnswerWriter() = default;

  virtual void text(std::string_view text) = 0;
  virtual void reasoning(std::string_view text) = 0;
  virtual void tool_calls(const std::vector<llm::ToolCall>& calls) = 0;
  // The last events; nothing comes after it.
  virtual void finish(const AnswerEnd& end) = 0;

  const Result<>& state() const { return state_; }

 protected:
  void send(op::Event event) {
    if (state_) state_ = sink_.emit(std::move(event));
  }

 private:
  op::EventSink& sink_;
  Result<> state_ = {};
};

// How the answers of one API look. Outlives the writers it makes.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  virtual json::Value whole(const AnswerHead& head, const WholeAnswer& answer) const = 0;
  virtual std::unique_ptr<AnswerWriter> writer(op::EventSink& sink, AnswerHead head) const = 0;
};

}  // namespace chela::api
