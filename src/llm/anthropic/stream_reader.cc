#include "llm/anthropic/stream_reader.h"

#include <algorithm>

#include "base/limits.h"
#include "llm/wire/provider_data.h"
#include "llm/wire/thoughts.h"

namespace chela::llm::anthropic {
namespace {

bool is_thought(std::string_view type) { return type == "thinking" || type == "redacted_thinking"; }

FinishReason reason_of(std::string_view name) {
  if (name == "refusal") return FinishReason::kContentFilter;
  if (name == "model_context_window_exceeded") return FinishReason::kLength;
  if (name == "pause_turn") return FinishReason::kStop;
  return finish_reason_from_name(name);
}

}  // namespace

Result<> StreamReader::on_event(std::string_view, const json::Value& event) {
  const std::string type = event.string_or("type");
  if (type == "error" || (type.empty() && wire::given(event, "error") != nullptr)) {
    const json::Value* error = wire::given(event, "error");
    return fail(wire::from_error_value(errors(), error != nullptr ? *error : event));
  }
  if (type == "message_start") {
    const json::Value* message = wire::given(event, "message");
    return message != nullptr ? begin_message(*message) : Result<>{};
  }
  const std::int64_t index = event.int_or("index", 0);
  if (type == "content_block_start") {
    const json::Value* block = wire::given(event, "content_block");
    return block != nullptr ? begin_block(index, *block) : Result<>{};
  }
  const json::Value* delta = wire::given(event, "delta");
  if (type == "content_block_delta" && delta != nullptr) return add_to_block(index, *delta);
  if (type == "message_delta") {
    if (const json::Value* usage = wire::given(event, "usage")) add_usage(*usage);
    if (delta != nullptr) stop(delta->string_or("stop_reason"));
  } else if (type == "message_stop") {
    // The reason precedes it; a server that gave none has simply stopped.
    if (!finished()) finish_with(FinishReason::kStop);
    end();
  }
  return {};  // pings, ends of blocks, and what later versions add
}

Result<> StreamReader::on_document(const json::Value& message) {
  if (message.string_or("type") != "message") return on_event("", message);
  if (Result<> begun = begin_message(message); !begun) return begun;
  const json::Value* content = wire::given(message, "content");
  if (content != nullptr && content->is_array()) {
    std::int64_t index = 0;
    for (const json::Value& block : *content->as_array()) {
      if (Result<> added = begin_block(index++, block); !added) return added;
    }
  }
  stop(message.string_or("stop_reason", "end_turn"));
  return {};
}

Result<> StreamReader::begin_message(const json::Value& message) {
  answer().model = message.string_or("model");
  if (const json::Value* usage = wire::given(message, "usage")) add_usage(*usage);
  return {};
}

Result<> StreamReader::begin_block(std::int64_t index, const json::Value& block) {
  const std::string type = block.string_or("type");
  if (blocks_.size() >= 2 * kMaxAnswerCalls) return fail(wire::answer_too_large(errors().server));
  blocks_.push_back({.index = index, .type = type, .content = {}});
  if (type == "text")
    return add_to_block(index,
                        json::Value::object({{"type", "text_delta"}, {"text", block.string_or("text")}}));
  if (is_thought(type)) {
    Block& added = blocks_.back();
    added.content = block;
    if (Result<> fits = count(block.string_or("data").size()); !fits) return fits;
    if (type != "thinking") return {};
    return add_thoughts(added, block.string_or("thinking"), block.string_or("signature"));
  }
  if (type != "tool_use") {
    blocks_.pop_back();  // of tools that the provider runs itself: none were asked for
    return {};
  }
  if (Result<> begun = begin_call(index, block.string_or("id"), block.string_or("name")); !begun)
    return begun;
  const json::Value* input = wire::given(block, "input");
  // In a stream it is {} and comes in pieces.
  if (input == nullptr || !input->is_object() || input->as_object()->empty()) return {};
  return set_arguments(index, json::write(*input));
}

Result<> StreamReader::add_to_block(std::int64_t index, const json::Value& delta) {
  const std::string type = delta.string_or("type");
  if (type == "input_json_delta") return add_arguments(index, delta.string_or("partial_json"));
  Block* block = block_at(index);
  if (type == "text_delta") {
    const std::string text = delta.string_or("text");
    if (block != nullptr) block->text_bytes += text.size();
    return add_text(text);
  }
  if (block == nullptr || !is_thought(block->type)) return {};
  return add_thoughts(*block, delta.string_or("thinking"), delta.string_or("signature"));
}

Result<> StreamReader::add_thoughts(Block& block, std::string_view thinking, std::string_view signature) {
  if (Result<> fits = count(thinking.size() + signature.size()); !fits) return fits;
  block.thinking += thinking;
  block.signature += signature;
  return add_reasoning(thinking);
}

StreamReader::Block* StreamReader::block_at(std::int64_t index) {
  const auto found = std::ranges::find(blocks_, index, &Block::index);
  return found != blocks_.end() ? &*found : nullptr;
}

// The totals so far: each event says those that it knows.
void StreamReader::add_usage(const json::Value& usage) {
  Usage& out = answer().usage;
  if (usage.find("input_tokens") != nullptr && !usage.find("input_tokens")->is_null()) {
    out.cached_tokens = wire::token_count(usage, "cache_read_input_tokens");
    out.cache_write_tokens = wire::token_count(usage, "cache_creation_input_tokens");
    out.input_tokens = wire::token_count(usage, "input_tokens") + out.cached_tokens + out.cache_write_tokens;
  }
  if (usage.find("output_tokens") != nullptr) out.output_tokens = wire::token_count(usage, "output_tokens");
}

void StreamReader::stop(std::string_view reason) {
  if (!reason.empty()) finish_with(reason_of(reason));
}

// The answer is one that calls tools: its thoughts have to be sent back. See wire/thoughts.h.
void StreamReader::complete(Answer& answer) {
  const bool thought =
      std::ranges::any_of(blocks_, [](const Block& block) { return is_thought(block.type); });
  if (!thought || answer.tool_calls.empty()) return;
  json::Array kept;
  for (Block& block : blocks_) {
    if (!is_thought(block.type)) {
      if (block.type == "tool_use") kept.push_back(wire::place_of_call());
      if (block.text_bytes > 0) kept.push_back(wire::place_of_text(block.text_bytes));
      continue;
    }
    if (block.type == "thinking") {
      block.content.set("thinking", std::move(block.thinking));
      block.content.set("signature", std::move(block.signature));
    }
    kept.push_back(std::move(block.content));
  }
  answer.provider_data = wire::pack_provider_data("anthropic", std::move(kept));
}

}  // namespace chela::llm::anthropic
