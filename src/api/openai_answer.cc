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
      {{"id", "chatcmpl-" + head.id}, {"object", object}, {"created", head.created}, {"model", head.model}});
}

class ChunkWriter final : public AnswerWriter {
 public:
  ChunkWriter(op::EventSink& sink, AnswerHead head, OpenAiFormat::Usage usage)
      : AnswerWriter(sink), head_(std::move(head)), usage_(usage) {}

  void text(std::string_view text) override {
    if (!text.empty()) delta({{"content", text}});
  }

  void reasoning(std::string_view text) override {
    if (!text.empty()) delta({{"reasoning_content", text}});
  }

  void tool_calls(const std::vector<llm::ToolCall>& calls) override {
    if (!calls.empty()) delta({{"tool_calls", calls_view(calls, Numbered::kYes)}});
  }

  // Finish reason, usage if it was asked for, [DONE].
  void finish(const AnswerEnd& end) override {
    begin();
    Value last = chunk(Value::object(), reason_text(end.reason));
    if (end.approval) last.set("approval", *end.approval);
    data(json::write(last));
    if (usage_ == OpenAiFormat::Usage::kInclude) {
      Value usage = envelope(head_, "chat.completion.chunk");
      usage.set("choices", Value::array());
      usage.set("usage", usage_view(end.usage));
      data(json::write(usage));
    }
    data("[DONE]");
  }

 private:
  void data(std::string text) { send(op::Event{.data = std::move(text)}); }

  void begin() {
    if (!std::exchange(begun_, true))
      data(json::write(chunk(Value::object({{"role", "assistant"}, {"content", ""}}), nullptr)));
  }

  void delta(json::Object fields) {
    begin();
    data(json::write(chunk(Value(std::move(fields)), nullptr)));
  }

  Value chunk(Value delta, Value finish_reason) const {
    Value out = envelope(head_, "chat.completion.chunk");
    out.set("choices", Value::array({Value::object({{"index", 0},
                                                    {"delta", std::move(delta)},
                                                    {"logprobs", nullptr},
                                                    {"finish_reason", std::move(finish_reason)}})}));
    if (usage_ == OpenAiFormat::Usage::kInclude) out.set("usage", nullptr);
    return out;
  }

  AnswerHead head_;
  OpenAiFormat::Usage usage_;
  bool begun_ = false;
};

}  // namespace

Value OpenAiFormat::whole(const AnswerHead& head, const WholeAnswer& answer) const {
  const bool only_calls = answer.text.empty() && !answer.calls.empty();
  Value message =
      Value::object({{"role", "assistant"}, {"content", only_calls ? Value() : Value(answer.text)}});
  if (!answer.reasoning.empty()) message.set("reasoning_content", answer.reasoning);
  if (!answer.calls.empty()) message.set("tool_calls", calls_view(answer.calls, Numbered::kNo));
  Value choice = Value::object({{"index", 0},
                                {"message", std::move(message)},
                                {"logprobs", nullptr},
                                {"finish_reason", reason_text(answer.end.reason)}});
  Value out = envelope(head, "chat.completion");
  out.set("choices", Value::array({std::move(choice)}));
  out.set("usage", usage_view(answer.end.usage));
  if (answer.end.approval) out.set("approval", *answer.end.approval);
  return out;
}

std::unique_ptr<AnswerWriter> OpenAiFormat::writer(op::EventSink& sink, AnswerHead head) const {
  return std::make_unique<ChunkWriter>(sink, std::move(head), usage_);
}

}  // namespace chela::api
