#include "agent/answer_reader.h"

#include <utility>

namespace chela::agent {
namespace {

using dialects::Ending;
using dialects::Final;

// A call that has no arguments has none to be wrong about.
llm::ToolCall structured(dialects::Call call) {
  return {.id = std::move(call.id),
          .name = std::move(call.name),
          .arguments = call.arguments.is_null() ? "{}" : json::write(call.arguments)};
}

// Whether the provider stopped the model before it was done.
Ending ending_of(const llm::Answer& answer) {
  const bool cut = answer.finish_reason == llm::FinishReason::kLength ||
                   answer.finish_reason == llm::FinishReason::kContentFilter;
  return cut ? Ending::kCut : Ending::kComplete;
}

}  // namespace

AnswerReader::AnswerReader(dialects::ToolSet tools, dialects::Unread unread)
    : any_tools_(!tools.empty()), tools_(std::move(tools)), unread_(unread) {
  parser_.emplace(tools_, Final::kFollows, unread_);
}

llm::Delta AnswerReader::read(std::string_view text) {
  raw_ += text;
  llm::Delta out{.text = parser_->feed(text), .reasoning = parser_->thoughts()};
  thoughts_ += out.reasoning;
  return out;
}

llm::Delta AnswerReader::feed(const llm::Delta& delta) {
  if (delta.reset) {
    raw_.clear();
    thoughts_.clear();
    parser_.emplace(tools_, Final::kFollows, unread_);
  }
  llm::Delta out = read(delta.text);
  out.reasoning.insert(0, delta.reasoning);
  out.reset = delta.reset;
  return out;
}

AnswerReader::Result AnswerReader::finish(llm::Answer answer) {
  llm::Delta rest;
  // A provider need not stream, and what it says at its end counts.
  if (answer.text.size() > raw_.size() && answer.text.starts_with(raw_))
    rest = read(std::string_view(answer.text).substr(raw_.size()));
  if (answer.text != raw_) {
    Result other = read_answer(std::move(answer), tools_, unread_);
    other.rest = {};  // it goes on from nothing that was shown
    return other;
  }
  dialects::Parser::Result read = parser_->finish(ending_of(answer));
  rest.text += read.rest;
  const std::string thought = parser_->thoughts();
  rest.reasoning += thought;
  thoughts_ += thought;
  answer.text = std::move(read.text);
  answer.reasoning += thoughts_;
  Result result{.rest = std::move(rest)};
  if (answer.tool_calls.empty()) {
    for (dialects::Call& each : read.calls) answer.tool_calls.push_back(structured(std::move(each)));
    if (!answer.tool_calls.empty()) {
      answer.finish_reason = llm::FinishReason::kToolCalls;
      answer.provider_data.clear();  // it does not know of these calls
    } else if (any_tools_) {
      result.refused = read.refused;
    }
  }
  result.answer = std::move(answer);
  return result;
}

AnswerReader::Result read_answer(llm::Answer answer, dialects::ToolSet tools, dialects::Unread unread) {
  AnswerReader reader(std::move(tools), unread);
  return reader.finish(std::move(answer));
}

}  // namespace chela::agent
