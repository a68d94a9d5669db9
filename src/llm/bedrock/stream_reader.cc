#include "llm/bedrock/stream_reader.h"

#include <algorithm>

#include "base/limits.h"
#include "base/utf8.h"
#include "llm/wire/provider_data.h"
#include "llm/wire/thoughts.h"

namespace chela::llm::bedrock {
namespace {

FinishReason reason_of(std::string_view name) {
  if (name == "guardrail_intervened" || name == "content_filtered") return FinishReason::kContentFilter;
  if (name == "model_context_window_exceeded") return FinishReason::kLength;
  return finish_reason_from_name(name);
}

std::string header(const Frame& frame, std::string_view name) {
  const auto found = frame.headers.find(name);
  return found != frame.headers.end() ? found->second : "";
}

// The exceptions of a stream have no status; these are what they would have.
int status_of(std::string_view exception) {
  if (exception == "throttlingException") return 429;
  if (exception == "validationException") return 400;
  if (exception == "accessDeniedException") return 403;
  return exception == "modelTimeoutException" ? 408 : 500;
}

}  // namespace

Result<> StreamReader::feed(std::string_view bytes) {
  const Result<std::vector<Frame>> frames = frames_.feed(bytes);
  if (!frames) return fail(Code::kUpstream, "{} sent {}", errors().server, frames.error().message);
  for (const Frame& frame : *frames) {
    if (Result<> read = on_frame(frame); !read) return read;
  }
  return {};
}

Result<> StreamReader::on_frame(const Frame& frame) {
  const std::string type = header(frame, ":message-type");
  if (type == "event" || type.empty()) return read_event(header(frame, ":event-type"), frame.payload);
  std::string name = header(frame, ":exception-type");
  if (name.empty()) name = header(frame, ":error-code");
  std::string message = header(frame, ":error-message");
  const Result<json::Value> payload = json::parse(utf8::sanitize(frame.payload));
  if (message.empty() && payload) message = payload->string_or("message", payload->string_or("Message"));
  return fail(wire::from_error_value(
      errors(), json::Value::object(
                    {{"type", name}, {"message", utf8::sanitize(message)}, {"status", status_of(name)}})));
}

Result<> StreamReader::on_event(std::string_view name, const json::Value& event) {
  const std::int64_t index = event.int_or("contentBlockIndex", 0);
  if (name == "contentBlockStart") {
    const json::Value* start = wire::given(event, "start");
    const json::Value* use = start != nullptr ? wire::given(*start, "toolUse") : nullptr;
    if (use == nullptr) return {};
    if (Result<Block*> block = block_at(index, Block::Kind::kCall); !block) return fail(block.error());
    return begin_call(index, use->string_or("toolUseId"), use->string_or("name"));
  }
  if (name == "contentBlockDelta") {
    const json::Value* delta = wire::given(event, "delta");
    return delta != nullptr ? on_delta(index, *delta) : Result<>{};
  }
  if (name == "messageStop") {
    finish_with(reason_of(event.string_or("stopReason")));
  } else if (name == "metadata") {
    if (const json::Value* usage = wire::given(event, "usage")) {
      const std::int64_t cached = wire::token_count(*usage, "cacheReadInputTokens");
      const std::int64_t written = wire::token_count(*usage, "cacheWriteInputTokens");
      answer().usage = {.input_tokens = wire::token_count(*usage, "inputTokens") + cached + written,
                        .output_tokens = wire::token_count(*usage, "outputTokens"),
                        .cached_tokens = cached,
                        .cache_write_tokens = written};
    }
    if (finished()) end();
  }
  return {};
}

Result<> StreamReader::on_delta(std::int64_t index, const json::Value& delta) {
  if (const json::Value* use = wire::given(delta, "toolUse"))
    return add_arguments(index, use->string_or("input"));
  if (const json::Value* reasoning = wire::given(delta, "reasoningContent"))
    return on_reasoning(index, *reasoning);
  const std::string text = delta.string_or("text");
  if (text.empty()) return {};
  const Result<Block*> block = block_at(index, Block::Kind::kText);
  if (!block) return fail(block.error());
  (*block)->bytes += text.size();
  return add_text(text);
}

Result<> StreamReader::on_reasoning(std::int64_t index, const json::Value& reasoning) {
  const std::string hidden = reasoning.string_or("redactedContent");
  const Result<Block*> block = block_at(index, hidden.empty() ? Block::Kind::kThought : Block::Kind::kHidden);
  if (!block) return fail(block.error());
  const std::string text = reasoning.string_or("text");
  const std::string signature = reasoning.string_or("signature");
  if (Result<> fits = count(hidden.size() + text.size() + signature.size()); !fits) return fits;
  (*block)->text += hidden.empty() ? text : hidden;
  (*block)->signature += signature;
  return add_reasoning(text);
}

Result<StreamReader::Block*> StreamReader::block_at(std::int64_t index, Block::Kind kind) {
  const auto found = std::ranges::find_if(
      blocks_, [&](const Block& block) { return block.index == index && block.kind == kind; });
  if (found != blocks_.end()) return &*found;
  if (blocks_.size() >= 2 * kMaxAnswerCalls) return fail(wire::answer_too_large(errors().server));
  return &blocks_.emplace_back(Block{.index = index, .kind = kind});
}

// The answer is one that calls tools: its thoughts have to be sent back. See wire/thoughts.h.
void StreamReader::complete(Answer& answer) {
  const bool thought = std::ranges::any_of(blocks_, [](const Block& block) {
    return block.kind == Block::Kind::kThought || block.kind == Block::Kind::kHidden;
  });
  if (!thought || answer.tool_calls.empty()) return;
  json::Array kept;
  for (Block& block : blocks_) {
    switch (block.kind) {
      case Block::Kind::kText:
        kept.push_back(wire::place_of_text(block.bytes));
        break;
      case Block::Kind::kCall:
        kept.push_back(wire::place_of_call());
        break;
      case Block::Kind::kHidden:
        kept.push_back(json::Value::object(
            {{"reasoningContent", json::Value::object({{"redactedContent", std::move(block.text)}})}}));
        break;
      case Block::Kind::kThought:
        json::Value text = json::Value::object({{"text", std::move(block.text)}});
        if (!block.signature.empty()) text.set("signature", std::move(block.signature));
        kept.push_back(json::Value::object(
            {{"reasoningContent", json::Value::object({{"reasoningText", std::move(text)}})}}));
        break;
    }
  }
  answer.provider_data = wire::pack_provider_data("bedrock", std::move(kept));
}

}  // namespace chela::llm::bedrock
