#include "llm/openai/answer_builder.h"

#include <algorithm>

#include "base/limits.h"
#include "llm/wire/event_reader.h"

namespace chela::llm::openai {
namespace {

bool given(const json::Value* value) { return value != nullptr && !value->is_null(); }

// The part of a call that holds name and arguments; some servers leave the wrapper out.
const json::Value& function_of(const json::Value& call) {
  const json::Value* function = call.find("function");
  return function != nullptr ? *function : call;
}

// A text, or an array of parts of which some are thoughts.
void add_content(const json::Value& content, Delta& delta) {
  if (const std::string* text = content.as_string()) {
    delta.text += *text;
    return;
  }
  const json::Array* parts = content.as_array();
  if (parts == nullptr) return;
  for (const json::Value& part : *parts) {
    delta.text += part.string_or("text");
    const json::Value* thinking = part.find("thinking");
    if (!given(thinking)) continue;
    Delta thought;
    add_content(*thinking, thought);
    delta.reasoning += thought.text;
  }
}

}  // namespace

Result<Delta> AnswerBuilder::add_chunk(const json::Value& chunk) {
  return add(chunk, "delta", Origin::kFragment);
}

Result<Delta> AnswerBuilder::add_whole(const json::Value& completion) {
  return add(completion, "message", Origin::kWhole);
}

Result<Delta> AnswerBuilder::add(const json::Value& root, std::string_view message_key, Origin origin) {
  if (!root.is_object())
    return fail(Code::kUpstream, "{} sent {} where an answer was expected", errors_.server, root.type_name());
  if (const json::Value* error = root.find("error"); given(error))
    return fail(wire::from_error_value(errors_, *error));
  if (std::string model = root.string_or("model"); !model.empty()) answer_.model = std::move(model);
  if (const json::Value* usage = root.find("usage"); given(usage)) add_usage(*usage);

  Delta delta;
  const json::Value* choices = root.find("choices");
  if (choices == nullptr || choices->as_array() == nullptr) return delta;
  for (const json::Value& choice : *choices->as_array()) {
    if (choice.int_or("index", 0) != 0) continue;  // one answer is asked for
    saw_choice_ = true;
    if (const json::Value* message = choice.find(message_key); given(message))
      add_message(*message, origin, delta);
    const std::string reason = choice.string_or("finish_reason");
    if (reason == "error") return fail(Code::kUpstream, "{} ended the answer with an error", errors_.server);
    if (reason.empty()) continue;
    saw_finish_ = true;
    answer_.finish_reason = finish_reason_from_name(reason);
  }
  answer_.text += delta.text;
  answer_.reasoning += delta.reasoning;
  bytes_ += delta.text.size() + delta.reasoning.size();
  if (bytes_ > kMaxModelAnswerBytes || slots_.size() > kMaxAnswerCalls)
    return fail(wire::answer_too_large(errors_.server));
  return delta;
}

void AnswerBuilder::add_message(const json::Value& message, Origin origin, Delta& delta) {
  if (const json::Value* content = message.find("content"); given(content)) add_content(*content, delta);
  delta.text += message.string_or("refusal");
  // Two names for the same; some servers send both.
  std::string reasoning = message.string_or("reasoning_content");
  delta.reasoning += reasoning.empty() ? message.string_or("reasoning") : reasoning;
  const json::Value* calls = message.find("tool_calls");
  if (!given(calls)) return;
  if (const json::Array* list = calls->as_array()) {
    for (const json::Value& call : *list) {
      if (slots_.size() > kMaxAnswerCalls) break;  // add() refuses the answer
      add_call(call, origin, list->size());
    }
  } else {
    add_call(*calls, origin, 1);
  }
}

void AnswerBuilder::add_usage(const json::Value& usage) {
  if (!usage.is_object()) return;
  // Running totals: the last one counts.
  answer_.usage.input_tokens = wire::token_count(usage, "prompt_tokens");
  answer_.usage.output_tokens = wire::token_count(usage, "completion_tokens");
  const json::Value* details = usage.find("prompt_tokens_details");
  const std::int64_t cached = given(details) ? wire::token_count(*details, "cached_tokens")
                                             : wire::token_count(usage, "prompt_cache_hit_tokens");
  answer_.usage.cached_tokens = std::min(cached, answer_.usage.input_tokens);
}

// The call that a fragment belongs to. The index decides where there is one, but some servers number all calls 0 and tell them apart
// by id, and some send neither: then a name begins a new call, once the call before has arguments or when several come in one chunk.
AnswerBuilder::Slot& AnswerBuilder::slot_for(const json::Value& fragment, Origin origin, size_t of) {
  const bool named = !function_of(fragment).string_or("name").empty();
  const std::string id = fragment.string_or("id");
  const json::Value* index_value = fragment.find("index");
  const std::optional<std::int64_t> index = index_value != nullptr ? index_value->as_int() : std::nullopt;

  Slot* found = nullptr;
  if (origin == Origin::kFragment) {
    for (Slot& slot : slots_) {
      if (index ? slot.index == index : (!id.empty() && slot.call.id == id)) found = &slot;
    }
    if (index && found != nullptr && named && !id.empty() && !found->call.id.empty() && found->call.id != id)
      found = nullptr;
    if (!index && found == nullptr && !slots_.empty()) {
      Slot& last = slots_.back();
      const bool another = named && (!id.empty() || of > 1 || !last.call.arguments.empty());
      if (!another) found = &last;
    }
  }
  if (found != nullptr) return *found;
  return slots_.emplace_back(Slot{.call = {}, .index = index});
}

void AnswerBuilder::add_call(const json::Value& fragment, Origin origin, size_t of) {
  if (!fragment.is_object()) return;
  ToolCall& call = slot_for(fragment, origin, of).call;
  const size_t before = call.id.size() + call.name.size() + call.arguments.size();
  const std::string id = fragment.string_or("id");
  const bool repeated = !id.empty() && id == call.id;
  if (call.id.empty()) call.id = id;
  const json::Value& function = function_of(fragment);
  const std::string name = function.string_or("name");
  // A name may come in pieces, before any argument; servers that repeat the whole name do it with the id or beside arguments.
  if (call.name.empty() || (call.arguments.empty() && !(repeated && name == call.name))) call.name += name;
  if (const json::Value* arguments = function.find("arguments"); given(arguments)) {
    if (const std::string* piece = arguments->as_string()) {
      call.arguments += *piece;
    } else {
      call.arguments = json::write(*arguments);
    }
  }
  bytes_ += call.id.size() + call.name.size() + call.arguments.size() - before;
}

Answer AnswerBuilder::take() {
  for (Slot& slot : slots_) answer_.tool_calls.push_back(std::move(slot.call));
  slots_.clear();
  wire::make_regular(answer_);
  return std::move(answer_);
}

}  // namespace chela::llm::openai
