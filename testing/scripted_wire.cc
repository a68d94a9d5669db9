#include "testing/scripted_wire.h"

#include <cstdint>

#include "base/strings.h"

namespace chela::testing {
namespace {

using json::Value;

constexpr std::string_view kModels = "/models/";
constexpr std::string_view kStreaming = ":streamGenerateContent";
constexpr std::string_view kBedrockModel = "/model/";
constexpr std::string_view kConverse = "/converse-stream";

// --- requests

class Flat {
 public:
  void say(std::string_view role, std::string_view text) {
    messages_.push_back(Value::object({{"role", role}, {"content", text}}));
  }
  void offer(std::string_view name) {
    tools_.push_back(Value::object({{"function", Value::object({{"name", name}})}}));
  }
  Asked asked(std::string_view model) {
    return Asked::read(
        Value::object({{"model", model}, {"messages", std::move(messages_)}, {"tools", std::move(tools_)}}));
  }

 private:
  json::Array messages_;
  json::Array tools_;
};

const json::Array& list(const Value& value, std::string_view key) {
  static const json::Array kNone;
  const Value* found = value.find(key);
  return found != nullptr && found->is_array() ? *found->as_array() : kNone;
}

std::string text_of(const Value* content) {
  if (content == nullptr) return {};
  if (const std::string* text = content->as_string()) return *text;
  std::string joined;
  if (const json::Array* parts = content->as_array()) {
    for (const Value& part : *parts) joined += part.string_or("text");
  }
  return joined;
}

std::string name_in_path(std::string_view path, std::string_view before, std::string_view after) {
  const size_t begin = path.find(before);
  const size_t end = path.rfind(after);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin + before.size())
    return {};
  return std::string(path.substr(begin + before.size(), end - begin - before.size()));
}

Asked asked_messages(const Value& body) {
  Flat flat;
  if (body.find("system") != nullptr) flat.say("system", text_of(body.find("system")));
  for (const Value& message : list(body, "messages")) {
    const std::string role = message.string_or("role");
    for (const Value& block : list(message, "content")) {
      const std::string type = block.string_or("type");
      if (type == "tool_result") {
        flat.say("tool", text_of(block.find("content")));
      } else if (type == "text") {
        flat.say(role, block.string_or("text"));
      }
    }
  }
  for (const Value& tool : list(body, "tools")) flat.offer(tool.string_or("name"));
  return flat.asked(body.string_or("model"));
}

Asked asked_gemini(std::string_view path, const Value& body) {
  Flat flat;
  if (const Value* system = body.find("systemInstruction"))
    flat.say("system", text_of(system->find("parts")));
  for (const Value& content : list(body, "contents")) {
    for (const Value& part : list(content, "parts")) {
      if (const Value* response = part.find("functionResponse")) {
        const Value* inner = response->find("response");
        flat.say("tool", inner != nullptr ? inner->string_or("output", inner->string_or("error")) : "");
      } else if (part.find("text") != nullptr) {
        flat.say(content.string_or("role") == "model" ? "assistant" : "user", part.string_or("text"));
      }
    }
  }
  for (const Value& tool : list(body, "tools")) {
    for (const Value& function : list(tool, "functionDeclarations")) flat.offer(function.string_or("name"));
  }
  return flat.asked(name_in_path(path, kModels, kStreaming));
}

Asked asked_responses(const Value& body) {
  Flat flat;
  flat.say("system", body.string_or("instructions"));
  for (const Value& item : list(body, "input")) {
    const std::string type = item.string_or("type", "message");
    if (type == "function_call_output") {
      flat.say("tool", item.string_or("output"));
    } else if (type == "message") {
      flat.say(item.string_or("role"), text_of(item.find("content")));
    }
  }
  for (const Value& tool : list(body, "tools")) flat.offer(tool.string_or("name"));
  return flat.asked(body.string_or("model"));
}

Asked asked_bedrock(std::string_view path, const Value& body) {
  Flat flat;
  flat.say("system", text_of(body.find("system")));
  for (const Value& message : list(body, "messages")) {
    for (const Value& block : list(message, "content")) {
      if (const Value* result = block.find("toolResult")) {
        flat.say("tool", text_of(result->find("content")));
      } else if (block.find("text") != nullptr) {
        flat.say(message.string_or("role"), block.string_or("text"));
      }
    }
  }
  if (const Value* config = body.find("toolConfig")) {
    for (const Value& tool : list(*config, "tools")) {
      const Value* spec = tool.find("toolSpec");
      if (spec != nullptr) flat.offer(spec->string_or("name"));
    }
  }
  return flat.asked(name_in_path(path, kBedrockModel, kConverse));
}

Asked asked_ollama(const Value& body) {
  Flat flat;
  for (const Value& message : list(body, "messages"))
    flat.say(message.string_or("role"), message.string_or("content"));
  for (const Value& tool : list(body, "tools")) {
    const Value* function = tool.find("function");
    if (function != nullptr) flat.offer(function->string_or("name"));
  }
  return flat.asked(body.string_or("model"));
}

// --- answers

ScriptedUsage usage_of(const Reply& reply, const AnswerForm& form) {
  if (reply.usage) return *reply.usage;
  return {.input = form.prompt_tokens, .output = static_cast<std::int64_t>(reply.text.size() / 4 + 1)};
}

Value object_of(const std::string& arguments) {
  Result<Value> value = json::parse(arguments);
  return value && value->is_object() ? std::move(*value) : Value::object();
}

size_t fragment_size(const Reply& reply, const ScriptedCall& call) {
  return reply.fragment_bytes != 0 ? reply.fragment_bytes : std::max<size_t>(1, call.arguments.size());
}

std::string named_event(const Value& event) {
  return fmt::format("event: {}\ndata: {}\n\n", event.string_or("type"), json::write(event));
}

std::vector<std::string> messages_events(const Reply& reply, const AnswerForm& form) {
  const ScriptedUsage usage = usage_of(reply, form);
  std::vector<std::string> out;
  const auto add = [&out](const Value& event) { out.push_back(named_event(event)); };
  int index = 0;
  const auto begin = [&](Value block) {
    add(Value::object(
        {{"type", "content_block_start"}, {"index", index}, {"content_block", std::move(block)}}));
  };
  const auto more = [&](Value delta) {
    add(Value::object({{"type", "content_block_delta"}, {"index", index}, {"delta", std::move(delta)}}));
  };
  const auto end = [&] { add(Value::object({{"type", "content_block_stop"}, {"index", index++}})); };
  add(Value::object(
      {{"type", "message_start"},
       {"message", Value::object({{"id", form.id},
                                  {"type", "message"},
                                  {"role", "assistant"},
                                  {"model", form.model},
                                  {"content", json::Array{}},
                                  {"usage", Value::object({{"input_tokens", usage.input - usage.cached},
                                                           {"cache_read_input_tokens", usage.cached},
                                                           {"cache_creation_input_tokens", 0},
                                                           {"output_tokens", 1}})}})}}));
  add(Value::object({{"type", "ping"}}));
  if (!reply.reasoning.empty()) {
    begin(Value::object({{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}));
    for (const std::string_view piece : pieces_of(reply.reasoning, reply.chunk_bytes))
      more(Value::object({{"type", "thinking_delta"}, {"thinking", piece}}));
    more(Value::object({{"type", "signature_delta"}, {"signature", "signed:" + reply.reasoning}}));
    end();
  }
  if (!reply.text.empty()) {
    begin(Value::object({{"type", "text"}, {"text", ""}}));
    for (const std::string_view piece : pieces_of(reply.text, reply.chunk_bytes))
      more(Value::object({{"type", "text_delta"}, {"text", piece}}));
    end();
  }
  for (const ScriptedCall& call : reply.calls) {
    begin(Value::object(
        {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", Value::object()}}));
    for (const std::string_view piece : pieces_of(call.arguments, fragment_size(reply, call)))
      more(Value::object({{"type", "input_json_delta"}, {"partial_json", piece}}));
    end();
  }
  const std::string_view reason = !reply.finish_reason.empty() ? std::string_view(reply.finish_reason)
                                  : reply.calls.empty()        ? "end_turn"
                                                               : "tool_use";
  add(Value::object({{"type", "message_delta"},
                     {"delta", Value::object({{"stop_reason", reason}, {"stop_sequence", nullptr}})},
                     {"usage", Value::object({{"output_tokens", usage.output}})}}));
  if (reply.done) add(Value::object({{"type", "message_stop"}}));
  return out;
}

std::vector<std::string> ollama_events(const Reply& reply, const AnswerForm& form) {
  const ScriptedUsage usage = usage_of(reply, form);
  std::vector<std::string> out;
  const auto line = [&](Value message, Value rest) {
    Value event = Value::object({{"model", form.model}, {"created_at", "2026-01-01T00:00:00Z"}});
    message.set("role", "assistant");
    if (message.find("content") == nullptr) message.set("content", "");
    event.set("message", std::move(message));
    for (json::Member& member : *rest.as_object()) event.set(member.key, std::move(member.value));
    out.push_back(json::write(event) + "\n");
  };
  const Value more = Value::object({{"done", false}});
  for (const std::string_view piece : pieces_of(reply.reasoning, reply.chunk_bytes))
    line(Value::object({{"thinking", piece}}), more);
  for (const std::string_view piece : pieces_of(reply.text, reply.chunk_bytes))
    line(Value::object({{"content", piece}}), more);
  for (const ScriptedCall& call : reply.calls) {
    const Value function = Value::object({{"name", call.name}, {"arguments", object_of(call.arguments)}});
    Value entry = Value::object({{"function", function}});
    if (!call.id.empty()) entry.set("id", call.id);
    line(Value::object({{"tool_calls", Value::array({std::move(entry)})}}), more);
  }
  if (!reply.done) return out;
  const std::string reason = reply.finish_reason.empty() ? "stop" : reply.finish_reason;
  line(Value::object(), Value::object({{"done", true},
                                       {"done_reason", reason},
                                       {"prompt_eval_count", usage.input},
                                       {"eval_count", usage.output}}));
  return out;
}

std::vector<std::string> gemini_events(const Reply& reply, const AnswerForm& form) {
  const ScriptedUsage usage = usage_of(reply, form);
  std::vector<std::string> out;
  const auto add = [&](json::Array parts, std::string_view reason) {
    Value candidate = Value::object({{"index", 0}});
    candidate.set("content", Value::object({{"role", "model"}, {"parts", std::move(parts)}}));
    if (!reason.empty()) candidate.set("finishReason", reason);
    const Value event =
        Value::object({{"candidates", Value::array({candidate})},
                       {"modelVersion", form.model},
                       {"usageMetadata", Value::object({{"promptTokenCount", usage.input},
                                                        {"candidatesTokenCount", usage.output},
                                                        {"cachedContentTokenCount", usage.cached}})}});
    out.push_back(fmt::format("data: {}\r\n\r\n", json::write(event)));
  };
  for (const std::string_view piece : pieces_of(reply.reasoning, reply.chunk_bytes))
    add({Value::object({{"text", piece}, {"thought", true}})}, "");
  for (const std::string_view piece : pieces_of(reply.text, reply.chunk_bytes))
    add({Value::object({{"text", piece}})}, "");
  for (const ScriptedCall& call : reply.calls) {
    Value function = Value::object({{"name", call.name}, {"args", object_of(call.arguments)}});
    if (!call.id.empty()) function.set("id", call.id);
    Value part = Value::object({{"functionCall", std::move(function)}});
    if (!reply.reasoning.empty()) part.set("thoughtSignature", "signed:" + reply.reasoning);
    add({std::move(part)}, "");
  }
  if (reply.done) add({}, reply.finish_reason.empty() ? std::string_view("STOP") : reply.finish_reason);
  return out;
}

std::vector<std::string> responses_events(const Reply& reply, const AnswerForm& form) {
  const ScriptedUsage usage = usage_of(reply, form);
  std::vector<std::string> out;
  json::Array output;
  int number = 0;
  const auto add = [&](Value event) {
    event.set("sequence_number", number++);
    out.push_back(named_event(event));
  };
  const auto begin = [&](const Value& item) {
    add(Value::object(
        {{"type", "response.output_item.added"}, {"output_index", output.size()}, {"item", item}}));
  };
  const auto end = [&](const Value& item) {
    add(Value::object(
        {{"type", "response.output_item.done"}, {"output_index", output.size()}, {"item", item}}));
    output.push_back(item);
  };
  const auto delta = [&](std::string_view type, std::string_view piece) {
    add(Value::object({{"type", type}, {"output_index", output.size()}, {"delta", piece}}));
  };
  Value response = Value::object({{"id", form.id}, {"object", "response"}, {"model", form.model}});
  response.set("status", "in_progress");
  add(Value::object({{"type", "response.created"}, {"response", response}}));
  if (!reply.reasoning.empty()) {
    Value item = Value::object({{"type", "reasoning"}, {"id", "rs_1"}, {"summary", json::Array{}}});
    begin(item);
    for (const std::string_view piece : pieces_of(reply.reasoning, reply.chunk_bytes))
      delta("response.reasoning_summary_text.delta", piece);
    item.set("summary", Value::array({Value::object({{"type", "summary_text"}, {"text", reply.reasoning}})}));
    item.set("encrypted_content", "signed:" + reply.reasoning);
    end(item);
  }
  if (!reply.text.empty()) {
    Value item = Value::object({{"type", "message"}, {"id", "msg_1"}, {"role", "assistant"}});
    begin(item);
    for (const std::string_view piece : pieces_of(reply.text, reply.chunk_bytes))
      delta("response.output_text.delta", piece);
    item.set("content", Value::array({Value::object({{"type", "output_text"}, {"text", reply.text}})}));
    end(item);
  }
  for (const ScriptedCall& call : reply.calls) {
    Value item = Value::object({{"type", "function_call"}, {"id", "fc_" + call.id}, {"call_id", call.id}});
    item.set("name", call.name);
    item.set("arguments", "");
    begin(item);
    for (const std::string_view piece : pieces_of(call.arguments, fragment_size(reply, call)))
      delta("response.function_call_arguments.delta", piece);
    item.set("arguments", call.arguments);
    end(item);
  }
  if (!reply.done) return out;
  const bool cut = reply.finish_reason == "length";
  response.set("status", cut ? "incomplete" : "completed");
  if (cut) response.set("incomplete_details", Value::object({{"reason", "max_output_tokens"}}));
  response.set("output", std::move(output));
  response.set("usage",
               Value::object({{"input_tokens", usage.input},
                              {"input_tokens_details", Value::object({{"cached_tokens", usage.cached}})},
                              {"output_tokens", usage.output}}));
  add(Value::object({{"type", cut ? "response.incomplete" : "response.completed"}, {"response", response}}));
  return out;
}

// --- the event stream of AWS

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1) ^ 0xedb88320U : crc >> 1;
  }
  return ~crc;
}

std::string big_endian(std::uint32_t number) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xffU);
  return out;
}

std::string frame(std::string_view type, const Value& payload, std::string_view message_type = "event") {
  const std::string body = json::write(payload);
  std::string headers;
  const auto header = [&headers](std::string_view name, std::string_view value) {
    headers += static_cast<char>(name.size());
    headers += name;
    headers += '\x07';  // a text
    headers += static_cast<char>(value.size() >> 8);
    headers += static_cast<char>(value.size() & 0xff);
    headers += value;
  };
  header(message_type == "event" ? ":event-type" : ":exception-type", type);
  header(":content-type", "application/json");
  header(":message-type", message_type);
  const size_t total = 12 + headers.size() + body.size() + 4;
  std::string out =
      big_endian(static_cast<std::uint32_t>(total)) + big_endian(static_cast<std::uint32_t>(headers.size()));
  out += big_endian(crc32(out));
  out += headers + body;
  return out + big_endian(crc32(out));
}

std::vector<std::string> bedrock_events(const Reply& reply, const AnswerForm& form) {
  const ScriptedUsage usage = usage_of(reply, form);
  std::vector<std::string> out;
  int index = 0;
  const auto more = [&](Value delta) {
    out.push_back(frame("contentBlockDelta",
                        Value::object({{"contentBlockIndex", index}, {"delta", std::move(delta)}})));
  };
  const auto end = [&] {
    out.push_back(frame("contentBlockStop", Value::object({{"contentBlockIndex", index++}})));
  };
  out.push_back(frame("messageStart", Value::object({{"role", "assistant"}})));
  if (!reply.reasoning.empty()) {
    for (const std::string_view piece : pieces_of(reply.reasoning, reply.chunk_bytes))
      more(Value::object({{"reasoningContent", Value::object({{"text", piece}})}}));
    more(Value::object({{"reasoningContent", Value::object({{"signature", "signed:" + reply.reasoning}})}}));
    end();
  }
  if (!reply.text.empty()) {
    for (const std::string_view piece : pieces_of(reply.text, reply.chunk_bytes))
      more(Value::object({{"text", piece}}));
    end();
  }
  for (const ScriptedCall& call : reply.calls) {
    const Value use = Value::object({{"toolUseId", call.id}, {"name", call.name}});
    out.push_back(frame("contentBlockStart", Value::object({{"contentBlockIndex", index},
                                                            {"start", Value::object({{"toolUse", use}})}})));
    for (const std::string_view piece : pieces_of(call.arguments, fragment_size(reply, call)))
      more(Value::object({{"toolUse", Value::object({{"input", piece}})}}));
    end();
  }
  if (!reply.done) return out;
  const std::string_view reason = !reply.finish_reason.empty() ? std::string_view(reply.finish_reason)
                                  : reply.calls.empty()        ? "end_turn"
                                                               : "tool_use";
  out.push_back(frame("messageStop", Value::object({{"stopReason", reason}})));
  out.push_back(
      frame("metadata", Value::object({{"usage", Value::object({{"inputTokens", usage.input - usage.cached},
                                                                {"outputTokens", usage.output},
                                                                {"totalTokens", usage.input + usage.output},
                                                                {"cacheReadInputTokens", usage.cached}})},
                                       {"metrics", Value::object({{"latencyMs", 1}})}})));
  return out;
}

}  // namespace

std::optional<Wire> wire_of(std::string_view path) {
  if (path.ends_with("/chat/completions")) return Wire::kChat;
  if (path.ends_with("/v1/messages")) return Wire::kMessages;
  if (path == "/api/chat") return Wire::kOllama;
  if (path.ends_with(kStreaming)) return Wire::kGemini;
  if (path.ends_with("/responses")) return Wire::kResponses;
  if (path.ends_with(kConverse)) return Wire::kBedrock;
  return std::nullopt;
}

Asked asked_over(Wire wire, std::string_view path, const json::Value& body) {
  switch (wire) {
    case Wire::kMessages:
      return asked_messages(body);
    case Wire::kOllama:
      return asked_ollama(body);
    case Wire::kGemini:
      return asked_gemini(path, body);
    case Wire::kResponses:
      return asked_responses(body);
    case Wire::kBedrock:
      return asked_bedrock(path, body);
    case Wire::kChat:
      break;
  }
  return Asked::read(body);
}

std::string_view content_type_of(Wire wire) {
  if (wire == Wire::kOllama) return "application/x-ndjson";
  return wire == Wire::kBedrock ? "application/vnd.amazon.eventstream" : "text/event-stream";
}

std::vector<std::string> events_over(Wire wire, const Reply& reply, const AnswerForm& form) {
  if (!reply.events.empty() && wire != Wire::kChat) {
    std::vector<std::string> out;
    for (const Value& event : reply.events) {
      const std::string text = event.is_string() ? *event.as_string() : json::write(event);
      if (wire == Wire::kBedrock) {
        out.push_back(frame(event.string_or("type"), event));
      } else {
        out.push_back(wire == Wire::kOllama ? text + "\n" : fmt::format("data: {}\n\n", text));
      }
    }
    return out;
  }
  switch (wire) {
    case Wire::kMessages:
      return messages_events(reply, form);
    case Wire::kOllama:
      return ollama_events(reply, form);
    case Wire::kGemini:
      return gemini_events(reply, form);
    case Wire::kResponses:
      return responses_events(reply, form);
    case Wire::kBedrock:
      return bedrock_events(reply, form);
    case Wire::kChat:
      break;
  }
  return stream_events(reply, form);
}

std::string bedrock_exception(std::string_view name, std::string_view message) {
  return frame(name, Value::object({{"message", message}}), "exception");
}

std::string error_body_over(Wire wire, const Reply& reply) {
  if (reply.body) return *reply.body;
  const Value error = reply.error
                          ? *reply.error
                          : Value::object({{"type", "scripted_error"},
                                           {"message", fmt::format("scripted status {}", reply.status)}});
  if (wire == Wire::kMessages) return json::write(Value::object({{"type", "error"}, {"error", error}}));
  if (wire == Wire::kOllama) return json::write(Value::object({{"error", error.string_or("message")}}));
  if (wire == Wire::kBedrock) return json::write(error);
  return error_body(reply);
}

}  // namespace chela::testing
