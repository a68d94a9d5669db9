#include "api/anthropic_answer.h"

#include <algorithm>

namespace chela::api {
namespace {

using json::Value;

std::string_view stop_reason(llm::FinishReason reason) {
  switch (reason) {
    case llm::FinishReason::kLength:
      return "max_tokens";
    case llm::FinishReason::kToolCalls:
      return "tool_use";
    case llm::FinishReason::kContentFilter:
      return "refusal";
    case llm::FinishReason::kStop:
    case llm::FinishReason::kUnknown:
      break;
  }
  return "end_turn";
}

// Anthropic counts what its cache served apart from the other input.
Value usage_view(const llm::Usage& usage) {
  const std::int64_t cached = std::min(usage.cached_tokens, usage.input_tokens);
  return Value::object({{"input_tokens", usage.input_tokens - cached},
                        {"cache_creation_input_tokens", 0},
                        {"cache_read_input_tokens", cached},
                        {"output_tokens", usage.output_tokens}});
}

// Clients read an object; what a model wrote instead of one stays visible.
Value input_of(const llm::ToolCall& call) {
  Result<Value> input = json::parse(call.arguments);
  if (input && input->is_object()) return std::move(*input);
  return Value::object({{"arguments", call.arguments}});
}

Value message(const AnswerHead& head, Value content, Value reason, const llm::Usage& usage) {
  return Value::object({{"id", "msg_" + head.id},
                        {"type", "message"},
                        {"role", "assistant"},
                        {"model", head.model},
                        {"content", std::move(content)},
                        {"stop_reason", std::move(reason)},
                        {"stop_sequence", nullptr},
                        {"usage", usage_view(usage)}});
}

Value thinking_block(std::string_view text) {
  return Value::object({{"type", "thinking"}, {"thinking", text}, {"signature", ""}});
}

Value text_block(std::string_view text) { return Value::object({{"type", "text"}, {"text", text}}); }

Value call_block(const llm::ToolCall& call, Value input) {
  return Value::object(
      {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", std::move(input)}});
}

class MessageEvents final : public AnswerWriter {
 public:
  MessageEvents(op::EventSink& sink, AnswerHead head) : AnswerWriter(sink), head_(std::move(head)) {}

  void text(std::string_view text) override {
    if (text.empty()) return;
    open(Block::kText, text_block(""));
    delta(Value::object({{"type", "text_delta"}, {"text", text}}));
  }

  void reasoning(std::string_view text) override {
    if (text.empty()) return;
    open(Block::kThinking, thinking_block(""));
    delta(Value::object({{"type", "thinking_delta"}, {"thinking", text}}));
  }

  void tool_calls(const std::vector<llm::ToolCall>& calls) override {
    for (const llm::ToolCall& call : calls) {
      close();
      open(Block::kCall, call_block(call, Value::object()));
      delta(Value::object({{"type", "input_json_delta"}, {"partial_json", json::write(input_of(call))}}));
      close();
    }
  }

  void finish(const AnswerEnd& end) override {
    begin();
    close();
    Value last = Value::object(
        {{"type", "message_delta"},
         {"delta", Value::object({{"stop_reason", stop_reason(end.reason)}, {"stop_sequence", nullptr}})},
         {"usage", usage_view(end.usage)}});
    if (end.approval) last.set("approval", *end.approval);
    emit(std::move(last));
    emit(Value::object({{"type", "message_stop"}}));
  }

 private:
  enum class Block { kNone, kThinking, kText, kCall };

  void emit(const Value& event) {
    send(op::Event{.name = event.string_or("type"), .data = json::write(event)});
  }

  void begin() {
    if (std::exchange(begun_, true)) return;
    emit(
        Value::object({{"type", "message_start"}, {"message", message(head_, Value::array(), nullptr, {})}}));
  }

  void open(Block kind, Value start) {
    if (open_ == kind) return;
    begin();
    close();
    open_ = kind;
    emit(Value::object(
        {{"type", "content_block_start"}, {"index", index_}, {"content_block", std::move(start)}}));
  }

  void delta(Value delta) {
    emit(Value::object({{"type", "content_block_delta"}, {"index", index_}, {"delta", std::move(delta)}}));
  }

  void close() {
    if (std::exchange(open_, Block::kNone) == Block::kNone) return;
    emit(Value::object({{"type", "content_block_stop"}, {"index", index_++}}));
  }

  AnswerHead head_;
  Block open_ = Block::kNone;
  int index_ = 0;
  bool begun_ = false;
};

}  // namespace

Value AnthropicFormat::whole(const AnswerHead& head, const WholeAnswer& answer) const {
  Value content = Value::array();
  if (!answer.reasoning.empty()) content.push_back(thinking_block(answer.reasoning));
  if (!answer.text.empty()) content.push_back(text_block(answer.text));
  for (const llm::ToolCall& call : answer.calls) content.push_back(call_block(call, input_of(call)));
  Value out = message(head, std::move(content), stop_reason(answer.end.reason), answer.end.usage);
  if (answer.end.approval) out.set("approval", *answer.end.approval);
  return out;
}

std::unique_ptr<AnswerWriter> AnthropicFormat::writer(op::EventSink& sink, AnswerHead head) const {
  return std::make_unique<MessageEvents>(sink, std::move(head));
}

}  // namespace chela::api
