#include "llm/anthropic/request_body.h"

#include <algorithm>

#include "base/base64.h"
#include "llm/anthropic/limits.h"
#include "llm/anthropic/model_version.h"
#include "llm/wire/thoughts.h"

namespace chela::llm::anthropic {
namespace {

using wire::Part;
using wire::Turn;

constexpr std::string_view kProtocol = "anthropic";  // of provider data
constexpr ModelVersion kFirstWithFormat{4, 5};

json::Value text_block(std::string_view text) {
  return json::Value::object({{"type", "text"}, {"text", text}});
}

json::Value image_block(const Image& image) {
  if (!image.bytes)
    return text_block(fmt::format("[an image of type {} that is not kept]", image.media_type));
  return json::Value::object({{"type", "image"},
                              {"source", json::Value::object({{"type", "base64"},
                                                              {"media_type", image.media_type},
                                                              {"data", base64::encode(*image.bytes)}})}});
}

json::Value call_block(const ToolCall& call) {
  return json::Value::object(
      {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", wire::arguments_object(call)}});
}

json::Value result_block(const Part& part) {
  json::Value block = json::Value::object({{"type", "tool_result"}, {"tool_use_id", part.call.id}});
  if (!wire::is_blank(part.text)) block.set("content", part.text);
  if (part.is_error) block.set("is_error", true);
  return block;
}

json::Value block_of(const Part& part) {
  switch (part.kind) {
    case Part::Kind::kImage:
      return image_block(part.image);
    case Part::Kind::kCall:
      return call_block(part.call);
    case Part::Kind::kResult:
      return result_block(part);
    case Part::Kind::kText:
      break;
  }
  return text_block(part.text);
}

class Body {
 public:
  explicit Body(Request request) : request_(std::move(request)) {
    // Calls in the messages are refused when no tools are listed.
    if (request_.tools.empty()) request_.messages = wire::without_tool_messages(std::move(request_.messages));
    turns_ = wire::as_turns(std::move(request_.messages));
  }

  std::string text() {
    choose_thinking();
    choose_length();
    out_.set("model", request_.model);
    out_.set("max_tokens", length_.most);
    if (!turns_.system.empty()) {
      json::Value block = text_block(turns_.system);
      mark(block);
      out_.set("system", json::Value::array({std::move(block)}));
    }
    add_messages();
    add_sampling();
    add_thinking();
    add_format();
    if (!output_.empty()) out_.set("output_config", std::move(output_));
    out_.set("stream", true);
    add_tools();
    add_extra();
    return json::write(out_);
  }

 private:
  static void mark(json::Value& block) {
    block.set("cache_control", json::Value::object({{"type", "ephemeral"}}));
  }

  // A forced call and thoughts exclude each other.
  void choose_thinking() {
    const std::string& effort = request_.sampling.reasoning_effort;
    const bool forced = !request_.tools.empty() &&
                        (!request_.tool_choice_name.empty() || request_.tool_choice == ToolChoice::kRequired);
    if (effort.empty() || effort == "none" || forced) return;
    if (wire::thoughts_are_there(turns_, kProtocol, block_of)) thinking_ = thinking_of(request_.model);
  }

  void choose_length() {
    const std::optional<ModelVersion> version = model_version(request_.model);
    const bool old = version && *version == ModelVersion{3, 0};
    const std::int64_t otherwise = old ? kOldMaxTokens : kDefaultMaxTokens;
    const Sampling& sampling = request_.sampling;
    length_.most = std::max<std::int64_t>(1, sampling.max_tokens.value_or(otherwise));
    if (thinking_ != Thinking::kBudget) return;
    length_ = answer_length(sampling.max_tokens, otherwise, sampling.reasoning_effort);
    if (length_.thoughts == 0) thinking_ = Thinking::kNone;
  }

  void add_messages() {
    json::Array messages;
    for (const Turn& turn : turns_.turns) {
      std::optional<json::Array> blocks;
      if (thinking_ != Thinking::kNone && turn.role == Role::kAssistant)
        blocks = wire::blocks_with_thoughts(turn, kProtocol, block_of);
      if (!blocks) {
        blocks.emplace();
        for (const Part& part : turn.parts) blocks->push_back(block_of(part));
      }
      messages.push_back(
          json::Value::object({{"role", role_name(turn.role)}, {"content", std::move(*blocks)}}));
    }
    // The last two of the user: what the request before this one marked last, and what the next one will find.
    int marks = 2;
    for (auto message = messages.rbegin(); message != messages.rend() && marks > 0; ++message) {
      if (message->string_or("role") != "user") continue;
      mark(message->find("content")->as_array()->back());
      --marks;
    }
    out_.set("messages", std::move(messages));
  }

  void add_sampling() {
    const Sampling& sampling = request_.sampling;
    if (!sampling.stop.empty()) {
      json::Array stop;
      for (const std::string& text : sampling.stop) stop.emplace_back(text);
      out_.set("stop_sequences", std::move(stop));
    }
    if (thinking_ != Thinking::kNone || !takes_sampling(request_.model)) return;
    // OpenAI's scale ends at 2, this one at 1; newer models take one of the two only.
    if (sampling.temperature) {
      out_.set("temperature", std::clamp(*sampling.temperature, 0.0, 1.0));
    } else if (sampling.top_p) {
      out_.set("top_p", *sampling.top_p);
    }
  }

  void add_thinking() {
    if (thinking_ == Thinking::kBudget) {
      out_.set("thinking", json::Value::object({{"type", "enabled"}, {"budget_tokens", length_.thoughts}}));
    } else if (thinking_ == Thinking::kAdaptive) {
      out_.set("thinking", json::Value::object({{"type", "adaptive"}, {"display", "summarized"}}));
      const std::string& effort = request_.sampling.reasoning_effort;
      output_.set("effort", effort == "minimal" ? "low" : effort);
    }
  }

  // A schema for the answer, of models that know it. There is no "any JSON": the prompt has to ask for that.
  void add_format() {
    const std::optional<json::Value>& format = request_.sampling.response_format;
    const json::Value* inner = format ? format->find("json_schema") : nullptr;
    const json::Value* schema = inner != nullptr ? inner->find("schema") : nullptr;
    const std::optional<ModelVersion> version = model_version(request_.model);
    if (schema == nullptr || !version || *version < kFirstWithFormat) return;
    output_.set("format", json::Value::object({{"type", "json_schema"}, {"schema", *schema}}));
  }

  void add_tools() {
    if (request_.tools.empty()) return;
    json::Array tools;
    for (const ToolSpec& tool : request_.tools) {
      json::Value entry = json::Value::object({{"name", tool.name}});
      if (!tool.description.empty()) entry.set("description", tool.description);
      entry.set("input_schema", *tool.parameters);
      tools.push_back(std::move(entry));
    }
    if (turns_.system.empty()) mark(tools.back());
    out_.set("tools", std::move(tools));
    json::Value choice = json::Value::object({{"type", "auto"}});
    if (!request_.tool_choice_name.empty()) {
      choice = json::Value::object({{"type", "tool"}, {"name", request_.tool_choice_name}});
    } else if (request_.tool_choice == ToolChoice::kNone) {
      choice.set("type", "none");
    } else if (request_.tool_choice == ToolChoice::kRequired) {
      choice.set("type", "any");
    }
    const bool off = request_.tool_choice == ToolChoice::kNone && request_.tool_choice_name.empty();
    if (request_.sampling.parallel_tool_calls == false && !off) choice.set("disable_parallel_tool_use", true);
    if (choice.string_or("type") != "auto" || choice.as_object()->size() > 1)
      out_.set("tool_choice", std::move(choice));
  }

  // What a client of /v1 says beyond OpenAI's parameters, and what this protocol has of those.
  void add_extra() {
    if (const json::Value* top_k = request_.extra.find("top_k");
        top_k != nullptr && thinking_ == Thinking::kNone)
      out_.set("top_k", *top_k);
    if (const json::Value* user = request_.extra.find("user"); user != nullptr && user->is_string())
      out_.set("metadata", json::Value::object({{"user_id", *user}}));
  }

  Request request_;
  wire::Turns turns_;
  Thinking thinking_ = Thinking::kNone;
  AnswerLength length_;
  json::Object output_;
  json::Value out_ = json::Value::object();
};

}  // namespace

std::string request_body(Request request) { return Body(std::move(request)).text(); }

}  // namespace chela::llm::anthropic
