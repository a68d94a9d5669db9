#include "api/openai_parameters.h"

#include <algorithm>
#include <array>

#include "api/openai_errors.h"
#include "base/limits.h"

namespace chela::api {
namespace {

using json::Value;

constexpr std::array<std::string_view, 13> kParameters = {"temperature",
                                                          "top_p",
                                                          "presence_penalty",
                                                          "frequency_penalty",
                                                          "max_tokens",
                                                          "max_completion_tokens",
                                                          "seed",
                                                          "stop",
                                                          "response_format",
                                                          "reasoning_effort",
                                                          "parallel_tool_calls",
                                                          "tool_choice",
                                                          "n"};

// Nothing for an absent field and for null, which OpenAI takes for one.
const Value* given(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value && !value->is_null() ? value : nullptr;
}

Failure wrong_type(std::string_view param, std::string_view expected, const Value& value) {
  return bad_param(param, fmt::format("expected {}, got {}", expected, value.type_name()));
}

Result<> read_number(const Value& body, std::string_view key, std::optional<double>& out) {
  const Value* value = given(body, key);
  if (!value) return {};
  out = value->as_double();
  if (!out) return wrong_type(key, "a number", *value);
  return {};
}

Result<> read_integer(const Value& body, std::string_view key, std::optional<std::int64_t>& out) {
  const Value* value = given(body, key);
  if (!value) return {};
  out = value->as_int();
  if (!out) return wrong_type(key, "a whole number", *value);
  return {};
}

Result<> read_numbers(const Value& body, llm::Sampling& out) {
  if (Result<> ok = read_number(body, "temperature", out.temperature); !ok) return ok;
  if (Result<> ok = read_number(body, "top_p", out.top_p); !ok) return ok;
  if (Result<> ok = read_number(body, "presence_penalty", out.presence_penalty); !ok) return ok;
  if (Result<> ok = read_number(body, "frequency_penalty", out.frequency_penalty); !ok) return ok;
  if (Result<> ok = read_integer(body, "seed", out.seed); !ok) return ok;
  // The newer name comes last, so it wins.
  for (const std::string_view key : {"max_tokens", "max_completion_tokens"}) {
    if (Result<> ok = read_integer(body, key, out.max_tokens); !ok) return ok;
    if (given(body, key) && *out.max_tokens < 1) return bad_param(key, "is less than 1");
    if (given(body, key) && *out.max_tokens > kMaxAskedTokens)
      return bad_param(key, fmt::format("is more than {}", kMaxAskedTokens));
  }
  std::optional<std::int64_t> n;
  if (Result<> ok = read_integer(body, "n", n); !ok) return ok;
  if (n && *n != 1) return bad_param("n", "only one choice is supported");
  return {};
}

Result<> read_stop(const Value& body, llm::Sampling& out) {
  const Value* stop = given(body, "stop");
  if (!stop) return {};
  if (stop->as_string()) {
    out.stop = {*stop->as_string()};
  } else if (stop->is_array()) {
    for (const Value& each : *stop->as_array()) {
      if (!each.as_string()) return bad_param("stop", "expected a string or an array of strings");
      out.stop.push_back(*each.as_string());
    }
  } else {
    return bad_param("stop", "expected a string or an array of strings");
  }
  if (out.stop.size() > kMaxStopSequences)
    return bad_param(
        "stop", fmt::format("has {} sequences; at most {} are allowed", out.stop.size(), kMaxStopSequences));
  if (std::find(out.stop.begin(), out.stop.end(), "") != out.stop.end())
    return bad_param("stop", "an empty sequence stops nothing");
  return {};
}

Result<> read_words(const Value& body, llm::Sampling& out) {
  if (const Value* effort = given(body, "reasoning_effort")) {
    if (!effort->as_string()) return wrong_type("reasoning_effort", "a string", *effort);
    out.reasoning_effort = *effort->as_string();
  }
  if (const Value* format = given(body, "response_format")) {
    if (format->string_or("type").empty())
      return bad_param("response_format", "expected an object with a type");
    out.response_format = *format;
  }
  if (given(body, "parallel_tool_calls")) {
    const Result<bool> parallel = read_flag(body, "parallel_tool_calls", "parallel_tool_calls");
    if (!parallel) return fail(parallel.error());
    out.parallel_tool_calls = *parallel;
  }
  return {};
}

Result<> read_tool_choice(const Value& body, llm::Request& out) {
  const Value* choice = given(body, "tool_choice");
  if (!choice) return {};
  if (const Value* function = choice->find("function")) {
    out.tool_choice_name = function->string_or("name");
    if (out.tool_choice_name.empty()) return bad_param("tool_choice.function.name", "is missing");
    return {};
  }
  const std::string name = choice->as_string() ? *choice->as_string() : choice->string_or("type");
  if (name == "none") {
    out.tool_choice = llm::ToolChoice::kNone;
  } else if (name == "required") {
    out.tool_choice = llm::ToolChoice::kRequired;
  } else if (name != "auto") {
    return bad_param("tool_choice",
                     fmt::format("'{}' is not known; expected none, auto, required or a function", name));
  }
  return {};
}

// Whether the field asks for nothing: clients send many with their default.
bool asks_for_nothing(std::string_view field, const Value& value) {
  if (value.is_null() || value == Value(false) || value == Value(0)) return true;
  if (const json::Object* object = value.as_object()) return object->empty();
  if (const json::Array* list = value.as_array())
    return std::all_of(list->begin(), list->end(),
                       [field](const Value& each) { return field == "modalities" && each == Value("text"); });
  return false;
}

}  // namespace

Result<> read_parameters(const Value& body, llm::Request& out) {
  if (Result<> ok = read_numbers(body, out.sampling); !ok) return ok;
  if (Result<> ok = read_stop(body, out.sampling); !ok) return ok;
  if (Result<> ok = read_words(body, out.sampling); !ok) return ok;
  return read_tool_choice(body, out);
}

bool is_parameter(std::string_view field) {
  return std::find(kParameters.begin(), kParameters.end(), field) != kParameters.end();
}

Result<bool> read_flag(const Value& body, std::string_view key, std::string_view param) {
  const Value* value = given(body, key);
  if (!value) return false;
  if (!value->as_bool()) return wrong_type(param, "true or false", *value);
  return *value->as_bool();
}

Result<> check_for_agent(const llm::Request& request) {
  static constexpr std::array<std::string_view, 9> kRefused = {
      "logprobs",   "top_logprobs",       "logit_bias", "modalities",   "audio",
      "prediction", "web_search_options", "functions",  "function_call"};
  for (const std::string_view field : kRefused) {
    const Value* value = request.extra.find(field);
    if (value && !asks_for_nothing(field, *value))
      return bad_param(field, "an agent's answer does not have it; leave it out, or ask the model itself");
  }
  for (size_t i = 0; i < request.messages.size(); ++i) {
    if (!request.messages[i].images.empty())
      return bad_param(
          fmt::format("messages[{}]", i),
          "an agent takes files with POST /api/chat/send; leave the image out, or ask the model itself");
  }
  return {};
}

}  // namespace chela::api
