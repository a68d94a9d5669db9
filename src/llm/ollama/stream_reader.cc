#include "llm/ollama/stream_reader.h"

namespace chela::llm::ollama {

Result<> StreamReader::on_event(std::string_view, const json::Value& event) {
  if (const json::Value* error = wire::given(event, "error"))
    return fail(wire::from_error_value(errors(), *error));
  if (std::string model = event.string_or("model"); !model.empty()) answer().model = std::move(model);
  if (const json::Value* message = wire::given(event, "message")) {
    if (Result<> added = add_message(*message); !added) return added;
  }
  if (!event.bool_or("done", false)) return {};
  answer().usage = {.input_tokens = wire::token_count(event, "prompt_eval_count"),
                    .output_tokens = wire::token_count(event, "eval_count")};
  finish_with(finish_reason_from_name(event.string_or("done_reason", "stop")));
  end();
  return {};
}

Result<> StreamReader::add_message(const json::Value& message) {
  if (Result<> added = add_reasoning(message.string_or("thinking")); !added) return added;
  if (Result<> added = add_text(message.string_or("content")); !added) return added;
  const json::Value* calls = wire::given(message, "tool_calls");
  if (calls == nullptr || !calls->is_array()) return {};
  for (const json::Value& call : *calls->as_array()) {
    if (Result<> added = add_call(call); !added) return added;
  }
  return {};
}

Result<> StreamReader::add_call(const json::Value& call) {
  const json::Value* function = wire::given(call, "function");
  if (function == nullptr) return {};
  const auto key = static_cast<std::int64_t>(call_count());
  if (Result<> begun = begin_call(key, call.string_or("id"), function->string_or("name")); !begun)
    return begun;
  const json::Value* arguments = wire::given(*function, "arguments");
  if (arguments == nullptr) return {};
  return set_arguments(key, arguments->is_string() ? *arguments->as_string() : json::write(*arguments));
}

}  // namespace chela::llm::ollama
