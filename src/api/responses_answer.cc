#include "api/responses_answer.h"

#include "api/responses_request.h"

namespace chela::api {
namespace {

using json::Value;

constexpr std::string_view kInProgress = "in_progress";
constexpr std::string_view kCompleted = "completed";

Value usage_view(const llm::Usage& usage) {
  return Value::object({{"input_tokens", usage.input_tokens},
                        {"input_tokens_details", Value::object({{"cached_tokens", usage.cached_tokens}})},
                        {"output_tokens", usage.output_tokens},
                        {"output_tokens_details", Value::object({{"reasoning_tokens", 0}})},
                        {"total_tokens", usage.input_tokens + usage.output_tokens}});
}

Value text_part(std::string_view text) {
  return Value::object({{"type", "output_text"},
                        {"text", text},
                        {"annotations", Value::array()},
                        {"logprobs", Value::array()}});
}

Value summary_part(std::string_view text) {
  return Value::object({{"type", "summary_text"}, {"text", text}});
}

Value reasoning_item(const std::string& id, Value summary) {
  return Value::object({{"id", id}, {"type", "reasoning"}, {"summary", std::move(summary)}});
}

Value message_item(const std::string& id, std::string_view status, Value content) {
  return Value::object({{"id", id},
                        {"type", "message"},
                        {"status", status},
                        {"role", "assistant"},
                        {"content", std::move(content)}});
}

Value call_item(const std::string& id, std::string_view status, const llm::ToolCall& call,
                std::string_view arguments) {
  return Value::object({{"id", id},
                        {"type", "function_call"},
                        {"status", status},
                        {"call_id", call.id},
                        {"name", call.name},
                        {"arguments", arguments}});
}

// An answer that was cut short says why.
Value incomplete_details(llm::FinishReason reason) {
  if (reason == llm::FinishReason::kLength) return Value::object({{"reason", "max_output_tokens"}});
  if (reason == llm::FinishReason::kContentFilter) return Value::object({{"reason", "content_filter"}});
  return nullptr;
}

Value response(const AnswerHead& head, std::string_view status, Value output, const Value& echoed) {
  Value out = Value::object({{"id", response_id(head.thread, head.id)},
                             {"object", "response"},
                             {"created_at", head.created},
                             {"status", status},
                             {"error", nullptr},
                             {"incomplete_details", nullptr},
                             {"model", head.model},
                             {"output", std::move(output)}});
  for (const json::Member& member : *echoed.as_object()) out.set(member.key, member.value);
  out.set("usage", nullptr);
  return out;
}

Value ended(const AnswerHead& head, Value output, const AnswerEnd& end, const Value& echoed) {
  Value details = incomplete_details(end.reason);
  Value out = response(head, details.is_null() ? kCompleted : "incomplete", std::move(output), echoed);
  out.set("incomplete_details", std::move(details));
  out.set("usage", usage_view(end.usage));
  if (end.approval) out.set("approval", *end.approval);
  return out;
}

std::string item_id(std::string_view prefix, const AnswerHead& head, size_t index) {
  return fmt::format("{}_{}{}", prefix, head.id, index);
}

// Items come one after the other; each is open until the next begins.
class ResponseEvents final : public AnswerWriter {
 public:
  ResponseEvents(op::EventSink& sink, AnswerHead head, Value echoed)
      : AnswerWriter(sink), head_(std::move(head)), echoed_(std::move(echoed)) {}

  void text(std::string_view text) override {
    if (text.empty()) return;
    open(Item::kMessage);
    text_ += text;
    emit("response.output_text.delta", {{"content_index", 0}, {"delta", text}, {"logprobs", Value::array()}});
  }

  void reasoning(std::string_view text) override {
    if (text.empty()) return;
    open(Item::kReasoning);
    text_ += text;
    emit("response.reasoning_summary_text.delta", {{"summary_index", 0}, {"delta", text}});
  }

  void tool_calls(const std::vector<llm::ToolCall>& calls) override {
    for (const llm::ToolCall& call : calls) {
      begin();
      close();
      id_ = item_id("fc", head_, output_.size());
      added(call_item(id_, kInProgress, call, ""));
      emit("response.function_call_arguments.delta", {{"delta", call.arguments}});
      emit("response.function_call_arguments.done", {{"name", call.name}, {"arguments", call.arguments}});
      done(call_item(id_, kCompleted, call, call.arguments));
    }
  }

  void finish(const AnswerEnd& end) override {
    begin();
    close();
    const Value whole = ended(head_, Value(output_), end, echoed_);
    const bool complete = whole.string_or("status") == kCompleted;
    event(complete ? "response.completed" : "response.incomplete", {{"response", whole}});
  }

 private:
  enum class Item { kNone, kReasoning, kMessage };

  void event(std::string type, json::Object fields) {
    Value data = Value::object({{"type", type}, {"sequence_number", sequence_++}});
    for (json::Member& member : fields) data.set(std::move(member.key), std::move(member.value));
    send(op::Event{.name = std::move(type), .data = json::write(data)});
  }

  // Of the item that is open.
  void emit(std::string type, json::Object fields) {
    fields.set("item_id", id_);
    fields.set("output_index", output_.size());
    event(std::move(type), std::move(fields));
  }

  void added(Value item) {
    event("response.output_item.added", {{"output_index", output_.size()}, {"item", std::move(item)}});
  }

  void done(Value item) {
    event("response.output_item.done", {{"output_index", output_.size()}, {"item", item}});
    output_.push_back(std::move(item));
  }

  void begin() {
    if (std::exchange(begun_, true)) return;
    const Value started = response(head_, kInProgress, Value::array(), echoed_);
    event("response.created", {{"response", started}});
    event("response.in_progress", {{"response", started}});
  }

  void open(Item kind) {
    if (open_ == kind) return;
    begin();
    close();
    open_ = kind;
    if (kind == Item::kReasoning) {
      id_ = item_id("rs", head_, output_.size());
      added(reasoning_item(id_, Value::array()));
      emit("response.reasoning_summary_part.added", {{"summary_index", 0}, {"part", summary_part("")}});
    } else {
      id_ = item_id("msg", head_, output_.size());
      added(message_item(id_, kInProgress, Value::array()));
      emit("response.content_part.added", {{"content_index", 0}, {"part", text_part("")}});
    }
  }

  void close() {
    const Item was = std::exchange(open_, Item::kNone);
    const std::string text = std::exchange(text_, {});
    if (was == Item::kReasoning) {
      emit("response.reasoning_summary_text.done", {{"summary_index", 0}, {"text", text}});
      emit("response.reasoning_summary_part.done", {{"summary_index", 0}, {"part", summary_part(text)}});
      done(reasoning_item(id_, Value::array({summary_part(text)})));
    } else if (was == Item::kMessage) {
      emit("response.output_text.done", {{"content_index", 0}, {"text", text}, {"logprobs", Value::array()}});
      emit("response.content_part.done", {{"content_index", 0}, {"part", text_part(text)}});
      done(message_item(id_, kCompleted, Value::array({text_part(text)})));
    }
  }

  AnswerHead head_;
  Value echoed_;
  json::Array output_;  // items that have ended
  Item open_ = Item::kNone;
  std::string id_;    // of the item that is open
  std::string text_;  // of it, so far
  std::int64_t sequence_ = 0;
  bool begun_ = false;
};

}  // namespace

Value ResponsesFormat::whole(const AnswerHead& head, const WholeAnswer& answer) const {
  json::Array output;
  if (!answer.reasoning.empty())
    output.push_back(
        reasoning_item(item_id("rs", head, output.size()), Value::array({summary_part(answer.reasoning)})));
  if (!answer.text.empty())
    output.push_back(message_item(item_id("msg", head, output.size()), kCompleted,
                                  Value::array({text_part(answer.text)})));
  for (const llm::ToolCall& call : answer.calls)
    output.push_back(call_item(item_id("fc", head, output.size()), kCompleted, call, call.arguments));
  return ended(head, Value(std::move(output)), answer.end, echoed_);
}

std::unique_ptr<AnswerWriter> ResponsesFormat::writer(op::EventSink& sink, AnswerHead head) const {
  return std::make_unique<ResponseEvents>(sink, std::move(head), echoed_);
}

}  // namespace chela::api
