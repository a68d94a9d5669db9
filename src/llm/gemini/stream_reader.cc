#include "llm/gemini/stream_reader.h"

#include <algorithm>
#include <array>

#include "llm/wire/provider_data.h"

namespace chela::llm::gemini {
namespace {

FinishReason reason_of(std::string_view name) {
  if (name == "STOP") return FinishReason::kStop;
  if (name == "MAX_TOKENS") return FinishReason::kLength;
  static constexpr std::array<std::string_view, 7> kFilters{
      "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE"};
  return std::ranges::find(kFilters, name) != kFilters.end() ? FinishReason::kContentFilter
                                                             : FinishReason::kUnknown;
}

const json::Value* first_of(const json::Value& object, std::string_view key) {
  const json::Value* list = wire::given(object, key);
  const json::Array* array = list != nullptr ? list->as_array() : nullptr;
  return array != nullptr && !array->empty() ? &array->front() : nullptr;
}

}  // namespace

Result<> StreamReader::on_document(const json::Value& document) {
  const json::Array* events = document.as_array();
  if (events == nullptr) return on_event("", document);
  for (const json::Value& event : *events) {
    if (Result<> read = on_event("", event); !read) return read;
  }
  return {};
}

Result<> StreamReader::on_event(std::string_view, const json::Value& event) {
  if (const json::Value* error = wire::given(event, "error"))
    return fail(wire::from_error_value(errors(), *error));
  if (std::string model = event.string_or("modelVersion"); !model.empty()) answer().model = std::move(model);
  if (const json::Value* usage = wire::given(event, "usageMetadata")) {
    // Running totals. Thoughts are told apart from the rest of the answer.
    const std::int64_t input = wire::token_count(*usage, "promptTokenCount");
    answer().usage = {.input_tokens = input,
                      .output_tokens = wire::token_count(*usage, "candidatesTokenCount") +
                                       wire::token_count(*usage, "thoughtsTokenCount"),
                      .cached_tokens = std::min(input, wire::token_count(*usage, "cachedContentTokenCount"))};
  }
  const json::Value* feedback = wire::given(event, "promptFeedback");
  if (feedback != nullptr && !feedback->string_or("blockReason").empty())
    finish_with(FinishReason::kContentFilter);
  const json::Value* candidate = first_of(event, "candidates");
  if (candidate == nullptr) return {};
  if (const json::Value* content = wire::given(*candidate, "content")) {
    const json::Value* parts = wire::given(*content, "parts");
    if (parts != nullptr && parts->is_array()) {
      for (const json::Value& part : *parts->as_array()) {
        if (Result<> added = add_part(part); !added) return added;
      }
    }
  }
  return stop(candidate->string_or("finishReason"));
}

Result<> StreamReader::add_part(const json::Value& part) {
  if (const json::Value* function = wire::given(part, "functionCall")) return add_call(part, *function);
  const std::string text = part.string_or("text");
  return part.bool_or("thought", false) ? add_reasoning(text) : add_text(text);
}

Result<> StreamReader::add_call(const json::Value& part, const json::Value& function) {
  const auto key = static_cast<std::int64_t>(call_count());
  const std::string id = function.string_or("id");
  if (Result<> begun = begin_call(key, id, function.string_or("name")); !begun) return begun;
  json::Value entry = json::Value::object();
  const std::string signature = part.string_or("thoughtSignature");
  if (Result<> fits = count(signature.size()); !fits) return fits;
  if (!id.empty()) entry.set("id", id);
  if (!signature.empty()) entry.set("signature", signature);
  kept_.push_back(std::move(entry));
  const json::Value* arguments = wire::given(function, "args");
  return set_arguments(key, arguments != nullptr ? json::write(*arguments) : "{}");
}

Result<> StreamReader::stop(std::string_view reason) {
  if (reason.empty()) return {};
  if (reason == "MALFORMED_FUNCTION_CALL" || reason == "UNEXPECTED_TOOL_CALL")
    return fail(Code::kUpstream, "the model behind {} made a call that means nothing ({})", errors().server,
                reason);
  finish_with(reason_of(reason));
  return {};
}

void StreamReader::complete(Answer& answer) {
  const bool any =
      std::ranges::any_of(kept_, [](const json::Value& entry) { return !entry.as_object()->empty(); });
  if (any) answer.provider_data = wire::pack_provider_data("gemini", std::move(kept_));
}

}  // namespace chela::llm::gemini
