#include "api/anthropic_request.h"

#include <array>

#include "api/image_part.h"
#include "api/openai_errors.h"
#include "api/openai_parameters.h"
#include "base/limits.h"

namespace chela::api {
namespace {

using json::Value;

// Budgets of thinking, in tokens, up to which an effort is meant.
constexpr std::int64_t kLowEffort = 4096;
constexpr std::int64_t kMediumEffort = 16384;

void add_line(std::string& text, std::string_view more) {
  if (!text.empty()) text += '\n';
  text += more;
}

Result<std::string> text_of(const Value& block, const std::string& where) {
  const Value* text = block.find("text");
  if (!text || !text->as_string()) return bad_param(where + ".text", "expected a string");
  return *text->as_string();
}

Result<llm::Image> image_of(const Value& block, const std::string& where) {
  const Value* source = block.find("source");
  const std::string at = where + ".source";
  if (!source || !source->is_object()) return bad_param(at, "expected an object");
  const std::string type = source->string_or("type");
  if (type == "base64")
    return image_from_base64(source->string_or("media_type"), source->string_or("data"), at);
  if (type == "url") return image_from_url(source->string_or("url"), at);
  return bad_param(at, fmt::format("a source of type '{}' is not supported; send base64", type));
}

// Reads the blocks of one message. A user's message is its results, each a message of its own, then the rest.
class Blocks {
 public:
  Blocks(llm::Role role, std::string where) : where_(std::move(where)) { rest_.role = role; }

  Result<> read(const Value& content) {
    if (const std::string* text = content.as_string()) {
      rest_.content = *text;
      return {};
    }
    const json::Array* blocks = content.as_array();
    if (!blocks)
      return bad_param(where_,
                       fmt::format("expected a string or an array of blocks, got {}", content.type_name()));
    for (size_t i = 0; i < blocks->size(); ++i) {
      if (Result<> ok = block((*blocks)[i], fmt::format("{}[{}]", where_, i)); !ok) return ok;
    }
    return {};
  }

  void move_to(std::vector<llm::Message>& out) {
    const bool only_results = !results_.empty() && rest_.content.empty() && rest_.images.empty();
    for (llm::Message& each : results_) out.push_back(std::move(each));
    if (!only_results) out.push_back(std::move(rest_));
  }

 private:
  Result<> block(const Value& block, const std::string& at) {
    const std::string type = block.string_or("type");
    const bool of_user = rest_.role == llm::Role::kUser;
    if (type == "text") return text(block, at);
    if (type == "image" && of_user) return image(block, at);
    if (type == "tool_result" && of_user) return result(block, at);
    if (type == "tool_use" && !of_user) return call(block, at);
    if ((type == "thinking" || type == "redacted_thinking") && !of_user) return {};
    return bad_param(at, fmt::format("a block of type '{}' is not supported in a message of the {}", type,
                                     llm::role_name(rest_.role)));
  }

  Result<> text(const Value& block, const std::string& at) {
    const Result<std::string> words = text_of(block, at);
    if (!words) return fail(words.error());
    // What the assistant said is one text, whatever was thought between its blocks: the engine knows it by its whole.
    if (rest_.role == llm::Role::kAssistant) {
      rest_.content += *words;
    } else {
      add_line(rest_.content, *words);
    }
    return {};
  }

  Result<> image(const Value& block, const std::string& at) {
    Result<llm::Image> shown = image_of(block, at);
    if (!shown) return fail(shown.error());
    rest_.images.push_back(std::move(*shown));
    return {};
  }

  Result<> call(const Value& block, const std::string& at) {
    llm::ToolCall use{.id = block.string_or("id"), .name = block.string_or("name"), .arguments = {}};
    const Value* input = block.find("input");
    if (use.id.empty() || use.name.empty()) return bad_param(at, "expected an id and a name");
    if (!input || !input->is_object()) return bad_param(at + ".input", "expected an object");
    use.arguments = json::write(*input);
    rest_.tool_calls.push_back(std::move(use));
    return {};
  }

  // Models take no images from tools: those follow with the user's own words.
  Result<> result(const Value& block, const std::string& at) {
    llm::Message message{.role = llm::Role::kTool, .tool_call_id = block.string_or("tool_use_id")};
    if (message.tool_call_id.empty()) return bad_param(at + ".tool_use_id", "is missing");
    if (block.bool_or("is_error", false)) message.content = "Error:";
    if (Result<> ok = result_content(block, at + ".content", message.content); !ok) return ok;
    results_.push_back(std::move(message));
    return {};
  }

  Result<> result_content(const Value& block, const std::string& at, std::string& out) {
    const Value* content = block.find("content");
    if (!content || content->is_null()) return {};
    if (const std::string* whole = content->as_string()) {
      add_line(out, *whole);
      return {};
    }
    const json::Array* parts = content->as_array();
    if (!parts) return bad_param(at, "expected a string or an array of blocks");
    for (size_t i = 0; i < parts->size(); ++i) {
      if (Result<> ok = result_part((*parts)[i], fmt::format("{}[{}]", at, i), out); !ok) return ok;
    }
    return {};
  }

  Result<> result_part(const Value& part, const std::string& at, std::string& out) {
    const std::string type = part.string_or("type");
    if (type == "image") return image(part, at);
    if (type != "text") return bad_param(at, fmt::format("a block of type '{}' is not supported", type));
    const Result<std::string> words = text_of(part, at);
    if (!words) return fail(words.error());
    add_line(out, *words);
    return {};
  }

  std::string where_;
  std::vector<llm::Message> results_;
  llm::Message rest_;
};

Result<> read_system(const Value& body, llm::Request& out) {
  const Value* system = body.find("system");
  if (!system || system->is_null()) return {};
  llm::Message message{.role = llm::Role::kSystem};
  if (const std::string* whole = system->as_string()) {
    message.content = *whole;
  } else if (const json::Array* blocks = system->as_array()) {
    for (size_t i = 0; i < blocks->size(); ++i) {
      const Result<std::string> text = text_of((*blocks)[i], fmt::format("system[{}]", i));
      if (!text) return fail(text.error());
      add_line(message.content, *text);
    }
  } else {
    return bad_param("system", "expected a string or an array of text blocks");
  }
  if (!message.content.empty()) out.messages.push_back(std::move(message));
  return {};
}

Result<> read_messages(const Value& body, llm::Request& out) {
  const Value* list = body.find("messages");
  if (!list || !list->is_array()) return bad_param("messages", "expected an array of messages");
  const json::Array& messages = *list->as_array();
  if (messages.empty()) return bad_param("messages", "is empty; send at least one message");
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string at = fmt::format("messages[{}]", i);
    const std::string role = messages[i].string_or("role");
    if (role != "user" && role != "assistant")
      return bad_param(at + ".role", fmt::format("'{}' is no role; expected user or assistant", role));
    const Value* content = messages[i].find("content");
    if (!content) return bad_param(at + ".content", "is missing");
    Blocks blocks(*llm::role_from_name(role), at + ".content");
    if (Result<> ok = blocks.read(*content); !ok) return ok;
    blocks.move_to(out.messages);
  }
  return {};
}

Result<> read_tools(const Value& body, llm::Request& out) {
  const Value* list = body.find("tools");
  if (!list || list->is_null()) return {};
  if (!list->is_array()) return bad_param("tools", "expected an array");
  for (const Value& each : *list->as_array()) {
    const std::string at = fmt::format("tools[{}]", out.tools.size());
    if (const std::string type = each.string_or("type", "custom"); type != "custom")
      return bad_param(
          at + ".type",
          fmt::format("'{}' is a tool of Anthropic's own service; send tools with a schema", type));
    const Value* schema = each.find("input_schema");
    if (each.string_or("name").empty()) return bad_param(at + ".name", "is missing");
    if (!schema || !schema->is_object())
      return bad_param(at + ".input_schema", "expected a JSON Schema of an object");
    out.tools.push_back({.name = each.string_or("name"),
                         .description = each.string_or("description"),
                         .parameters = *schema});
  }
  return {};
}

Result<> read_tool_choice(const Value& body, llm::Request& out) {
  const Value* choice = body.find("tool_choice");
  if (!choice || choice->is_null()) return {};
  if (choice->bool_or("disable_parallel_tool_use", false)) out.sampling.parallel_tool_calls = false;
  const std::string type = choice->string_or("type");
  if (type == "auto") return {};
  if (type == "none") {
    out.tool_choice = llm::ToolChoice::kNone;
  } else if (type == "any") {
    out.tool_choice = llm::ToolChoice::kRequired;
  } else if (type == "tool" && !choice->string_or("name").empty()) {
    out.tool_choice_name = choice->string_or("name");
  } else {
    return bad_param("tool_choice", "expected a type auto, any, none, or tool with a name");
  }
  return {};
}

Result<> read_thinking(const Value& body, llm::Request& out) {
  const Value* thinking = body.find("thinking");
  if (!thinking || thinking->is_null()) return {};
  const std::string type = thinking->string_or("type");
  if (type == "disabled" || type == "adaptive") return {};
  const std::int64_t budget = thinking->int_or("budget_tokens", 0);
  if (type != "enabled" || budget < 1)
    return bad_param("thinking", "expected a type disabled, adaptive, or enabled with budget_tokens");
  out.sampling.reasoning_effort = budget <= kLowEffort ? "low" : budget <= kMediumEffort ? "medium" : "high";
  return {};
}

Result<> read_stops(const Value& body, llm::Request& out) {
  const Value* stops = body.find("stop_sequences");
  if (!stops || stops->is_null()) return {};
  if (!stops->is_array()) return bad_param("stop_sequences", "expected an array of strings");
  for (const Value& each : *stops->as_array()) {
    if (!each.as_string() || each.as_string()->empty())
      return bad_param("stop_sequences", "expected strings that are not empty");
    out.sampling.stop.push_back(*each.as_string());
  }
  if (out.sampling.stop.size() > kMaxStopSequences)
    return bad_param("stop_sequences", fmt::format("at most {} are allowed", kMaxStopSequences));
  return {};
}

// A schema for the answer: OpenAI's response_format, which wants a name.
Result<> read_format(const Value& body, llm::Request& out) {
  const Value* config = body.find("output_config");
  const Value* format = config != nullptr ? config->find("format") : nullptr;
  if (!format || format->is_null()) return {};
  const Value* schema = format->find("schema");
  if (format->string_or("type") != "json_schema" || !schema || !schema->is_object())
    return bad_param("output_config.format", "expected a type json_schema with a schema");
  out.sampling.response_format = Value::object(
      {{"type", "json_schema"}, {"json_schema", Value::object({{"name", "answer"}, {"schema", *schema}})}});
  return {};
}

// What both APIs call alike is read as OpenAI's is.
Result<> read_sampling(const Value& body, llm::Request& out) {
  Value shared = Value::object();
  for (const std::string_view key : {"temperature", "top_p", "max_tokens"}) {
    if (const Value* value = body.find(key)) shared.set(std::string(key), *value);
  }
  if (Result<> ok = read_parameters(shared, out); !ok) return ok;
  if (!out.sampling.max_tokens) return bad_param("max_tokens", "is missing");
  if (const Value* top_k = body.find("top_k"); top_k && !top_k->is_null()) out.extra.append("top_k", *top_k);
  return {};
}

}  // namespace

Result<ChatRequest> parse_anthropic_request(const Value& body) {
  ChatRequest out;
  for (const auto read : {read_model, read_system, read_messages, read_tools, read_tool_choice, read_thinking,
                          read_sampling, read_stops, read_format}) {
    if (Result<> ok = read(body, out.request); !ok) return fail(ok.error());
  }
  if (const Value* servers = body.find("mcp_servers");
      servers && servers->as_array() && !servers->as_array()->empty())
    return bad_param("mcp_servers", "is not supported; give the agent its servers, or send tools");
  const Result<bool> stream = read_flag(body, "stream", "stream");
  if (!stream) return fail(stream.error());
  out.stream = *stream;
  if (const Value* metadata = body.find("metadata")) out.thread_id = metadata->string_or("thread_id");
  return out;
}

}  // namespace chela::api
