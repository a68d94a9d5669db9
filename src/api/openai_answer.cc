#include "api/openai_answer.h"

namespace chela::api {
namespace {

using json::Value;

Value usage_view(const llm::Usage& usage) {
  return Value::object({{"prompt_tokens", usage.input_tokens},
                        {"completion_tokens", usage.output_tokens},
                        {"total_tokens", usage.input_tokens + usage.output_tokens},
                        {"prompt_tokens_details", Value::object({{"cached_tokens", usage.cached_tokens}})}});
}

enum class Numbered { kNo, kYes };  // chunks number their calls, whole messages do not

Value calls_view(const std::vector<llm::ToolCall>& calls, Numbered numbered) {
  Value list = Value::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    Value call = Value::object();
    if (numbered == Numbered::kYes) call.set("index", i);
    call.set("id", calls[i].id);
    call.set("type", "function");
    call.set("function", Value::object({{"name", calls[i].name}, {"arguments", calls[i].arguments}}));
    list.push_back(std::move(call));
  }
  return list;
}

// A reason that the provider did not name, or that nobody knows, is an ordinary end.
std::string_view reason_text(llm::FinishReason reason) {
  return llm::finish_reason_name(reason == llm::FinishReason::kUnknown ? llm::FinishReason::kStop : reason);
}

Value envelope(const AnswerHead& head, std::string_view object) {
  return Value::object(
      {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}});
}

}  // namespace

Value completion(const AnswerHead& head, const std::string& text, const std::string& reasoning,
                 const std::vector<llm::ToolCall>& calls, const AnswerEnd& end) {
  Value message = Value::object(
      {{"role", "assistant"}, {"content", text.empty() && !calls.empty() ? Value() : Value(text)}});
  if (!reasoning.empty()) message.set("reasoning_content", reasoning);
  if (!calls.empty()) message.set("tool_calls", calls_view(calls, Numbered::kNo));
  Value choice = Value::object({{"index", 0},
                                {"message", std::move(message)},
                                {"logprobs", nullptr},
                                {"finish_reason", reason_text(end.reason)}});
  Value out = envelope(head, "chat.completion");
  out.set("choices", Value::array({std::move(choice)}));
  out.set("usage", usage_view(end.usage));
  if (end.approval) out.set("approval", *end.approval);
  return out;
}

Value ChunkWriter::chunk(Value delta, Value finish_reason) const {
  Value out = envelope(head_, "chat.completion.chunk");
  out.set("choices", Value::array({Value::object({{"index", 0},
                                                  {"delta", std::move(delta)},
                                                  {"logprobs", nullptr},
                                                  {"finish_reason", std::move(finish_reason)}})}));
  if (usage_ == Usage::kInclude) out.set("usage", nullptr);
  return out;
}

void ChunkWriter::send(std::string data) {
  if (state_) state_ = sink_.emit(op::Event{.data = std::move(data)});
}

void ChunkWriter::delta(json::Object fields) {
  if (!begun_) {
    begun_ = true;
    send(json::write(chunk(Value::object({{"role", "assistant"}, {"content", ""}}), nullptr)));
  }
  send(json::write(chunk(Value(std::move(fields)), nullptr)));
}

void ChunkWriter::text(std::string_view text) {
  if (!text.empty()) delta({{"content", text}});
}

void ChunkWriter::reasoning(std::string_view text) {
  if (!text.empty()) delta({{"reasoning_content", text}});
}

void ChunkWriter::tool_calls(const std::vector<llm::ToolCall>& calls) {
  if (!calls.empty()) delta({{"tool_calls", calls_view(calls, Numbered::kYes)}});
}

void ChunkWriter::finish(const AnswerEnd& end) {
  if (!begun_) {
    begun_ = true;
    send(json::write(chunk(Value::object({{"role", "assistant"}, {"content", ""}}), nullptr)));
  }
  Value last = chunk(Value::object(), reason_text(end.reason));
  if (end.approval) last.set("approval", *end.approval);
  send(json::write(last));
  if (usage_ == Usage::kInclude) {
    Value usage = envelope(head_, "chat.completion.chunk");
    usage.set("choices", Value::array());
    usage.set("usage", usage_view(end.usage));
    send(json::write(usage));
  }
  send("[DONE]");
}

}  // namespace chela::api
