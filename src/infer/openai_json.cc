#include "infer/openai_json.h"

#include <bit>

#include "base/base64.h"

namespace chela::infer {
namespace {

std::string_view finish_name(Finish finish) {
  switch (finish) {
    case Finish::kStop:
      return "stop";
    case Finish::kLength:
      return "length";
    case Finish::kToolCalls:
      return "tool_calls";
  }
  return "";
}

json::Value usage_value(const Usage& usage) {
  return json::Value::object(
      {{"prompt_tokens", usage.prompt_tokens},
       {"completion_tokens", usage.completion_tokens},
       {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
       {"prompt_tokens_details", json::Value::object({{"cached_tokens", usage.cached_tokens}})}});
}

enum class Indexed { kNo, kYes };  // stream deltas number their calls, whole messages do not

json::Value calls_value(const std::vector<ToolCall>& calls, Indexed indexed) {
  auto out = json::Value::array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto call = json::Value::object();
    if (indexed == Indexed::kYes) call.set("index", i);
    call.set("id", calls[i].id);
    call.set("type", "function");
    call.set("function", json::Value::object({{"name", calls[i].name}, {"arguments", calls[i].arguments}}));
    out.push_back(std::move(call));
  }
  return out;
}

std::string event(const json::Value& value) { return "data: " + json::write(value) + "\n\n"; }

json::Value chunk(const ReplyHead& head, json::Value choices) {
  return json::Value::object({{"id", head.id},
                              {"object", "chat.completion.chunk"},
                              {"created", head.created},
                              {"model", head.model},
                              {"choices", std::move(choices)}});
}

std::string delta_event(const ReplyHead& head, json::Value delta, json::Value finish) {
  auto choice =
      json::Value::object({{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}});
  return event(chunk(head, json::Value::array({std::move(choice)})));
}

}  // namespace

json::Value completion(const ReplyHead& head, const Answer& answer) {
  auto message = json::Value::object(
      {{"role", "assistant"},
       {"content",
        answer.text.empty() && !answer.tool_calls.empty() ? json::Value() : json::Value(answer.text)}});
  if (!answer.tool_calls.empty()) message.set("tool_calls", calls_value(answer.tool_calls, Indexed::kNo));
  auto choice = json::Value::object(
      {{"index", 0}, {"message", std::move(message)}, {"finish_reason", finish_name(answer.finish)}});
  return json::Value::object({{"id", head.id},
                              {"object", "chat.completion"},
                              {"created", head.created},
                              {"model", head.model},
                              {"choices", json::Value::array({std::move(choice)})},
                              {"usage", usage_value(answer.usage)}});
}

std::string role_chunk(const ReplyHead& head) {
  return delta_event(head, json::Value::object({{"role", "assistant"}, {"content", ""}}), nullptr);
}

std::string text_chunk(const ReplyHead& head, std::string_view text) {
  return delta_event(head, json::Value::object({{"content", text}}), nullptr);
}

std::string tool_calls_chunk(const ReplyHead& head, const std::vector<ToolCall>& calls) {
  return delta_event(head, json::Value::object({{"tool_calls", calls_value(calls, Indexed::kYes)}}), nullptr);
}

std::string finish_chunk(const ReplyHead& head, Finish finish) {
  return delta_event(head, json::Value::object(), finish_name(finish));
}

std::string usage_chunk(const ReplyHead& head, const Usage& usage) {
  auto value = chunk(head, json::Value::array());
  value.set("usage", usage_value(usage));
  return event(value);
}

std::string error_chunk(const Error& error) { return event(error_body(error)); }

std::string_view done_chunk() { return "data: [DONE]\n\n"; }

json::Value embedding_list(std::string_view model, const std::vector<Embedding>& vectors, std::size_t tokens,
                           std::string_view encoding) {
  auto data = json::Value::array();
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    json::Value content;
    if (encoding == "base64") {
      static_assert(std::endian::native == std::endian::little, "the wire form is little-endian floats");
      content = base64::encode(std::string_view(reinterpret_cast<const char*>(vectors[i].data()),
                                                vectors[i].size() * sizeof(float)));
    } else {
      json::Array numbers;
      numbers.reserve(vectors[i].size());
      for (const float number : vectors[i]) numbers.emplace_back(static_cast<double>(number));
      content = std::move(numbers);
    }
    data.push_back(
        json::Value::object({{"object", "embedding"}, {"index", i}, {"embedding", std::move(content)}}));
  }
  return json::Value::object(
      {{"object", "list"},
       {"data", std::move(data)},
       {"model", model},
       {"usage", json::Value::object({{"prompt_tokens", tokens}, {"total_tokens", tokens}})}});
}

json::Value model_list(const std::vector<std::string>& ids, std::int64_t created) {
  auto data = json::Value::array();
  for (const auto& id : ids)
    data.push_back(
        json::Value::object({{"id", id}, {"object", "model"}, {"created", created}, {"owned_by", "local"}}));
  return json::Value::object({{"object", "list"}, {"data", std::move(data)}});
}

int error_status(const Error& error) {
  return error.code == Code::kUnsupported ? 400 : http_status(error.code);
}

json::Value error_body(const Error& error) {
  const int status = error_status(error);
  const std::string_view type = status == 429   ? "rate_limit_error"
                                : status == 404 ? "not_found_error"
                                : status < 500  ? "invalid_request_error"
                                                : "server_error";
  const auto param = error.detail("param");
  const auto code = error.detail("code");
  return json::Value::object(
      {{"error", json::Value::object({{"message", error.message},
                                      {"type", type},
                                      {"param", param.empty() ? json::Value() : json::Value(param)},
                                      {"code", code.empty() ? code_name(error.code) : code}})}});
}

}  // namespace chela::infer
