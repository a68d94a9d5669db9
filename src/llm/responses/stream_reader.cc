#include "llm/responses/stream_reader.h"

#include <algorithm>

#include "llm/wire/provider_data.h"

namespace chela::llm::responses {
namespace {

// The texts of the parts under a key.
std::string texts_of(const json::Value& item, std::string_view key) {
  std::string out;
  const json::Value* parts = wire::given(item, key);
  if (parts == nullptr || !parts->is_array()) return out;
  for (const json::Value& part : *parts->as_array()) out += part.string_or("text", part.string_or("refusal"));
  return out;
}

}  // namespace

Result<> StreamReader::on_event(std::string_view, const json::Value& event) {
  const std::string type = event.string_or("type");
  const std::int64_t index = event.int_or("output_index", 0);
  if (type == "response.output_text.delta" || type == "response.refusal.delta")
    return add_text(event.string_or("delta"));
  if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta")
    return add_reasoning(event.string_or("delta"));
  if (type == "response.reasoning_summary_part.added" && !answer().reasoning.empty())
    return add_reasoning("\n\n");
  if (type == "response.function_call_arguments.delta") return add_arguments(index, event.string_or("delta"));
  const json::Value* item = wire::given(event, "item");
  if (type == "response.output_item.added" && item != nullptr && item->string_or("type") == "function_call")
    return begin_call(index, item->string_or("call_id"), item->string_or("name"));
  if (type == "response.output_item.done" && item != nullptr) return end_item(index, *item);
  const json::Value* response = wire::given(event, "response");
  if (type == "error" || (type.empty() && wire::given(event, "error") != nullptr)) {
    const json::Value* error = wire::given(event, "error");
    return fail(wire::from_error_value(errors(), error != nullptr ? *error : event));
  }
  if (response == nullptr) return {};
  if (std::string model = response->string_or("model"); !model.empty()) answer().model = std::move(model);
  if (type == "response.completed" || type == "response.incomplete" || type == "response.failed") {
    end();
    return end_response(*response);
  }
  return {};
}

Result<> StreamReader::on_document(const json::Value& response) {
  if (response.string_or("object") != "response") return on_event("", response);
  answer().model = response.string_or("model");
  const json::Value* output = wire::given(response, "output");
  if (output != nullptr && output->is_array()) {
    std::int64_t index = 0;
    for (const json::Value& item : *output->as_array()) {
      if (Result<> added = add_whole_item(index++, item); !added) return added;
    }
  }
  return end_response(response);
}

Result<> StreamReader::add_whole_item(std::int64_t index, const json::Value& item) {
  const std::string type = item.string_or("type");
  if (type == "message") return add_text(texts_of(item, "content"));
  if (type == "reasoning") {
    if (Result<> added = add_reasoning(texts_of(item, "summary")); !added) return added;
  } else if (type == "function_call") {
    if (Result<> begun = begin_call(index, item.string_or("call_id"), item.string_or("name")); !begun)
      return begun;
  }
  return end_item(index, item);
}

Result<> StreamReader::end_item(std::int64_t index, const json::Value& item) {
  const std::string type = item.string_or("type");
  if (type == "function_call") {
    const json::Value* arguments = wire::given(item, "arguments");
    const std::string* whole = arguments != nullptr ? arguments->as_string() : nullptr;
    return whole != nullptr && !whole->empty() ? set_arguments(index, *whole) : Result<>{};
  }
  if (type != "reasoning" || item.string_or("encrypted_content").empty()) return {};
  json::Value kept = json::Value::object({{"type", "reasoning"}, {"id", item.string_or("id")}});
  const json::Value* summary = wire::given(item, "summary");
  kept.set("summary", summary != nullptr ? *summary : json::Value::array());
  kept.set("encrypted_content", item.string_or("encrypted_content"));
  if (Result<> fits = count(json::write(kept).size()); !fits) return fits;
  thoughts_.push_back(std::move(kept));
  return {};
}

Result<> StreamReader::end_response(const json::Value& response) {
  if (const json::Value* error = wire::given(response, "error"))
    return fail(wire::from_error_value(errors(), *error));
  if (const json::Value* usage = wire::given(response, "usage")) {
    const std::int64_t input = wire::token_count(*usage, "input_tokens");
    const json::Value* details = wire::given(*usage, "input_tokens_details");
    answer().usage = {.input_tokens = input,
                      .output_tokens = wire::token_count(*usage, "output_tokens"),
                      .cached_tokens = details != nullptr
                                           ? std::min(input, wire::token_count(*details, "cached_tokens"))
                                           : 0};
  }
  const std::string status = response.string_or("status");
  if (status == "completed") {
    finish_with(FinishReason::kStop);
  } else if (status == "incomplete") {
    const json::Value* details = wire::given(response, "incomplete_details");
    const std::string reason = details != nullptr ? details->string_or("reason") : "";
    finish_with(reason == "max_output_tokens" ? FinishReason::kLength
                : reason == "content_filter"  ? FinishReason::kContentFilter
                                              : FinishReason::kUnknown);
  } else {
    return fail(Code::kUpstream, "{} ended the answer as '{}'", errors().server, status);
  }
  return {};
}

void StreamReader::complete(Answer& answer) {
  if (!thoughts_.empty() && !answer.tool_calls.empty())
    answer.provider_data = wire::pack_provider_data("responses", std::move(thoughts_));
}

}  // namespace chela::llm::responses
