#include "api/responses_request.h"

#include <algorithm>
#include <array>

#include "api/image_part.h"
#include "api/openai_errors.h"
#include "api/openai_parameters.h"
#include "base/strings.h"

namespace chela::api {
namespace {

using json::Value;

constexpr std::string_view kIdPrefix = "resp_";
constexpr size_t kHexOfUuid = 32;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

void add_line(std::string& text, std::string_view more) {
  if (!text.empty()) text += '\n';
  text += more;
}

Result<> read_part(const Value& part, const std::string& at, llm::Message& out) {
  const std::string type = part.string_or("type");
  if (type == "input_image" && out.role == llm::Role::kUser) {
    Result<llm::Image> image = image_from_url(part.string_or("image_url"), at + ".image_url");
    if (!image) return fail(image.error());
    out.images.push_back(std::move(*image));
    return {};
  }
  const bool is_text = type == "input_text" || type == "output_text" || type == "text" || type == "refusal";
  const Value* text = part.find(type == "refusal" ? "refusal" : "text");
  if (!is_text) return bad_param(at, fmt::format("a part of type '{}' is not supported here", type));
  if (!text || !text->as_string()) return bad_param(at + ".text", "expected a string");
  // What the assistant said is one text, in however many parts it was sent.
  if (out.role == llm::Role::kAssistant) {
    out.content += *text->as_string();
  } else {
    add_line(out.content, *text->as_string());
  }
  return {};
}

Result<> read_message(const Value& item, const std::string& at, llm::Request& out) {
  const std::string role = item.string_or("role");
  llm::Message message;
  if (role == "developer" || role == "system") {
    message.role = llm::Role::kSystem;
  } else if (role == "assistant") {
    message.role = llm::Role::kAssistant;
  } else if (role != "user") {
    return bad_param(at + ".role",
                     fmt::format("'{}' is no role; expected system, developer, user or assistant", role));
  }
  const Value* content = item.find("content");
  if (content && content->as_string()) {
    message.content = *content->as_string();
  } else if (content && content->is_array()) {
    const json::Array& parts = *content->as_array();
    for (size_t i = 0; i < parts.size(); ++i) {
      if (Result<> ok = read_part(parts[i], fmt::format("{}.content[{}]", at, i), message); !ok) return ok;
    }
  } else {
    return bad_param(at + ".content", "expected a string or an array of parts");
  }
  out.messages.push_back(std::move(message));
  return {};
}

// Calls of one answer are one message of the assistant.
Result<> read_call(const Value& item, const std::string& at, llm::Request& out) {
  llm::ToolCall call{.id = item.string_or("call_id"),
                     .name = item.string_or("name"),
                     .arguments = item.string_or("arguments", "{}")};
  if (call.id.empty() || call.name.empty()) return bad_param(at, "expected a call_id and a name");
  if (out.messages.empty() || out.messages.back().role != llm::Role::kAssistant)
    out.messages.push_back({.role = llm::Role::kAssistant});
  out.messages.back().tool_calls.push_back(std::move(call));
  return {};
}

Result<> read_result(const Value& item, const std::string& at, llm::Request& out) {
  llm::Message message{.role = llm::Role::kTool, .tool_call_id = item.string_or("call_id")};
  if (message.tool_call_id.empty()) return bad_param(at + ".call_id", "is missing");
  const Value* output = item.find("output");
  if (output && output->as_string()) {
    message.content = *output->as_string();
  } else if (output && output->is_array()) {
    for (size_t i = 0; i < output->as_array()->size(); ++i) {
      const std::string where = fmt::format("{}.output[{}]", at, i);
      if (Result<> ok = read_part((*output->as_array())[i], where, message); !ok) return ok;
    }
  } else {
    return bad_param(at + ".output", "expected a string or an array of parts");
  }
  out.messages.push_back(std::move(message));
  return {};
}

Result<> read_item(const Value& item, const std::string& at, llm::Request& out) {
  const std::string type = item.string_or("type", "message");
  if (type == "message") return read_message(item, at, out);
  if (type == "function_call") return read_call(item, at, out);
  if (type == "function_call_output") return read_result(item, at, out);
  if (type == "reasoning") return {};
  return bad_param(at, fmt::format("an item of type '{}' is not supported", type));
}

Result<> read_input(const Value& body, llm::Request& out) {
  if (const Value* said = body.find("instructions"); said && !said->is_null()) {
    if (!said->as_string()) return bad_param("instructions", "expected a string");
    if (!said->as_string()->empty())
      out.messages.push_back({.role = llm::Role::kSystem, .content = *said->as_string()});
  }
  const Value* input = body.find("input");
  if (input && input->as_string()) {
    out.messages.push_back({.role = llm::Role::kUser, .content = *input->as_string()});
    return {};
  }
  if (!input || !input->is_array()) return bad_param("input", "expected a string or an array of items");
  if (input->as_array()->empty()) return bad_param("input", "is empty; send at least one item");
  for (size_t i = 0; i < input->as_array()->size(); ++i) {
    if (Result<> ok = read_item((*input->as_array())[i], fmt::format("input[{}]", i), out); !ok) return ok;
  }
  if (out.messages.empty()) return bad_param("input", "holds nothing that is said");
  return {};
}

Result<> read_tools(const Value& body, llm::Request& out) {
  const Value* list = body.find("tools");
  if (!list || list->is_null()) return {};
  if (!list->is_array()) return bad_param("tools", "expected an array");
  for (const Value& each : *list->as_array()) {
    const std::string at = fmt::format("tools[{}]", out.tools.size());
    if (const std::string type = each.string_or("type"); type != "function")
      return bad_param(at + ".type",
                       fmt::format("'{}' is a tool of OpenAI's own service; send functions", type));
    if (each.string_or("name").empty()) return bad_param(at + ".name", "is missing");
    const Value* parameters = each.find("parameters");
    if (parameters && !parameters->is_null() && !parameters->is_object())
      return bad_param(at + ".parameters", "expected a JSON Schema of an object");
    const bool given = parameters && parameters->is_object();
    out.tools.push_back(
        {.name = each.string_or("name"),
         .description = each.string_or("description"),
         .parameters = given ? *parameters : *json::parse(R"({"type":"object","properties":{}})")});
  }
  return {};
}

// The schema of an answer, as chat completions name it.
Result<> add_format(const Value& body, Value& out) {
  const Value* text = body.find("text");
  const Value* format = text ? text->find("format") : nullptr;
  if (!format || format->is_null()) return {};
  const std::string type = format->string_or("type");
  if (type == "text") return {};
  if (type == "json_object") {
    out.set("response_format", Value::object({{"type", type}}));
    return {};
  }
  if (type != "json_schema" || !format->find("schema"))
    return bad_param("text.format", "expected a type text, json_object, or json_schema with a schema");
  Value schema = Value::object();
  for (const json::Member& member : *format->as_object()) {
    if (member.key != "type") schema.set(member.key, member.value);
  }
  out.set("response_format", Value::object({{"type", type}, {"json_schema", std::move(schema)}}));
  return {};
}

// What chat completions call otherwise is renamed; the rest of the reading is theirs.
Result<> read_sampling(const Value& body, llm::Request& out) {
  Value shared = Value::object();
  for (const std::string_view key : {"temperature", "top_p", "parallel_tool_calls"}) {
    if (const Value* value = body.find(key)) shared.set(std::string(key), *value);
  }
  if (const Value* most = body.find("max_output_tokens"); most && !most->is_null()) {
    if (!most->as_int() || *most->as_int() < 1)
      return bad_param("max_output_tokens", "expected a number from 1 on");
    shared.set("max_tokens", *most);
  }
  if (const Value* reasoning = body.find("reasoning"))
    if (const Value* effort = reasoning->find("effort")) shared.set("reasoning_effort", *effort);
  if (Result<> ok = add_format(body, shared); !ok) return ok;
  if (const Value* choice = body.find("tool_choice"); choice && !choice->is_null()) {
    if (choice->is_object() && choice->string_or("type") == "function") {
      shared.set("tool_choice",
                 Value::object({{"function", Value::object({{"name", choice->string_or("name")}})}}));
    } else if (choice->is_object()) {
      return bad_param("tool_choice", "expected auto, none, required or a function");
    } else {
      shared.set("tool_choice", *choice);
    }
  }
  return read_parameters(shared, out);
}

Result<> refuse_the_rest(const Value& body) {
  for (const std::string_view key : {"background", "conversation", "prompt", "max_tool_calls"}) {
    const Value* value = body.find(key);
    if (value && !value->is_null() && *value != Value(false))
      return bad_param(key, "is not supported; leave it out");
  }
  return {};
}

Result<> read_thread(const Value& body, ChatRequest& out) {
  if (const Value* metadata = body.find("metadata")) out.thread_id = metadata->string_or("thread_id");
  const std::string previous = body.string_or("previous_response_id");
  if (previous.empty()) return {};
  const std::optional<std::string> thread = thread_of_response(previous);
  if (!thread)
    return bad_param("previous_response_id",
                     "only an agent's answers can be gone on from; send the conversation");
  out.thread_id = *thread;
  return {};
}

Value echo(const Value& body) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kEchoed = {
      {{"instructions", "null"},
       {"max_output_tokens", "null"},
       {"metadata", "{}"},
       {"parallel_tool_calls", "true"},
       {"previous_response_id", "null"},
       {"reasoning", R"({"effort":null,"summary":null})"},
       {"temperature", "1.0"},
       {"text", R"({"format":{"type":"text"}})"},
       {"tool_choice", R"("auto")"},
       {"tools", "[]"},
       {"top_p", "1.0"}}};
  Value out = Value::object();
  for (const auto& [key, otherwise] : kEchoed) {
    const Value* value = body.find(key);
    out.set(std::string(key), value && !value->is_null() ? *value : *json::parse(otherwise));
  }
  return out;
}

}  // namespace

std::string response_id(std::string_view thread, std::string_view answer) {
  std::string hex = strings::replace_all(std::string(thread), "-", "");
  if (hex.size() != kHexOfUuid || !is_hex(hex)) hex.clear();
  return fmt::format("{}{}{}", kIdPrefix, hex, answer);
}

std::optional<std::string> thread_of_response(std::string_view id) {
  if (!id.starts_with(kIdPrefix)) return std::nullopt;
  const std::string_view hex = id.substr(kIdPrefix.size());
  if (hex.size() != 2 * kHexOfUuid || !is_hex(hex)) return std::nullopt;
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                     hex.substr(16, 4), hex.substr(20, 12));
}

Result<ResponsesRequest> parse_responses_request(const Value& body) {
  ResponsesRequest out;
  if (Result<> ok = refuse_the_rest(body); !ok) return fail(ok.error());
  for (const auto read : {read_model, read_input, read_tools, read_sampling}) {
    if (Result<> ok = read(body, out.chat.request); !ok) return fail(ok.error());
  }
  if (Result<> ok = read_thread(body, out.chat); !ok) return fail(ok.error());
  const Result<bool> stream = read_flag(body, "stream", "stream");
  if (!stream) return fail(stream.error());
  out.chat.stream = *stream;
  out.echoed = echo(body);
  return out;
}

}  // namespace chela::api
