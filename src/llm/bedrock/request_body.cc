#include "llm/bedrock/request_body.h"

#include <algorithm>

#include "base/base64.h"
#include "llm/anthropic/limits.h"
#include "llm/anthropic/model_version.h"
#include "llm/wire/thoughts.h"

namespace chela::llm::bedrock {
namespace {

using anthropic::Thinking;
using wire::Part;
using wire::Turn;

constexpr std::string_view kProtocol = "bedrock";  // of provider data
constexpr anthropic::ModelVersion kFirstWithCache{3, 7};

bool caches_prompts(std::string_view model) {
  const std::optional<anthropic::ModelVersion> version = anthropic::model_version(model);
  return (version && *version >= kFirstWithCache) || model.contains("amazon.nova");
}

json::Value cache_point() {
  return json::Value::object({{"cachePoint", json::Value::object({{"type", "default"}})}});
}

json::Value text_block(std::string_view text) { return json::Value::object({{"text", text}}); }

json::Value image_block(const Image& image) {
  const size_t slash = image.media_type.find('/');
  if (!image.bytes || slash == std::string::npos)
    return text_block(fmt::format("[an image of type {} that is not kept]", image.media_type));
  const json::Value source = json::Value::object({{"bytes", base64::encode(*image.bytes)}});
  return json::Value::object(
      {{"image", json::Value::object({{"format", image.media_type.substr(slash + 1)}, {"source", source}})}});
}

json::Value call_block(const ToolCall& call) {
  return json::Value::object({{"toolUse", json::Value::object({{"toolUseId", call.id},
                                                               {"name", call.name},
                                                               {"input", wire::arguments_object(call)}})}});
}

json::Value result_block(const Part& part) {
  json::Value result = json::Value::object({{"toolUseId", part.call.id}});
  result.set("content",
             json::Value::array({text_block(wire::is_blank(part.text) ? "(nothing)" : part.text)}));
  if (part.is_error) result.set("status", "error");
  return json::Value::object({{"toolResult", std::move(result)}});
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
    // The protocol has no "no tool": none are listed then, and calls in the messages are refused when none are.
    const bool off = request_.tool_choice == ToolChoice::kNone && request_.tool_choice_name.empty();
    if (off) request_.tools.clear();
    if (request_.tools.empty()) request_.messages = wire::without_tool_messages(std::move(request_.messages));
    turns_ = wire::as_turns(std::move(request_.messages));
  }

  std::string text() {
    choose_thinking();
    choose_length();
    const bool cached = caches_prompts(request_.model);
    add_messages(cached);
    if (!turns_.system.empty()) {
      json::Array system{text_block(turns_.system)};
      if (cached) system.push_back(cache_point());
      out_.set("system", std::move(system));
    }
    add_inference();
    add_tools();
    add_thinking();
    return json::write(out_);
  }

 private:
  bool is_forced() const {
    return !request_.tools.empty() &&
           (!request_.tool_choice_name.empty() || request_.tool_choice == ToolChoice::kRequired);
  }

  void choose_thinking() {
    const std::string& effort = request_.sampling.reasoning_effort;
    if (effort.empty() || effort == "none" || is_forced()) return;
    if (wire::thoughts_are_there(turns_, kProtocol, block_of))
      thinking_ = anthropic::thinking_of(request_.model);
  }

  void choose_length() {
    if (thinking_ != Thinking::kBudget) return;
    const Sampling& sampling = request_.sampling;
    length_ = anthropic::answer_length(sampling.max_tokens, anthropic::kDefaultMaxTokens,
                                       sampling.reasoning_effort);
    if (length_.thoughts == 0) thinking_ = Thinking::kNone;
  }

  void add_messages(bool cached) {
    json::Array messages;
    for (const Turn& turn : turns_.turns) {
      std::optional<json::Array> blocks;
      if (thinking_ != Thinking::kNone && turn.role == Role::kAssistant)
        blocks = wire::blocks_with_thoughts(turn, kProtocol, block_of);
      if (!blocks) {
        blocks.emplace();
        for (const Part& part : turn.parts) blocks->push_back(block_of(part));
        const bool only_images =
            std::ranges::all_of(turn.parts, [](const Part& part) { return part.kind == Part::Kind::kImage; });
        if (only_images) blocks->push_back(text_block("(an image)"));  // one without words is refused
      }
      messages.push_back(
          json::Value::object({{"role", role_name(turn.role)}, {"content", std::move(*blocks)}}));
    }
    int marks = cached ? 2 : 0;
    for (auto message = messages.rbegin(); message != messages.rend() && marks > 0; ++message) {
      if (message->string_or("role") != "user") continue;
      message->find("content")->push_back(cache_point());
      --marks;
    }
    out_.set("messages", std::move(messages));
  }

  void add_inference() {
    const Sampling& sampling = request_.sampling;
    json::Object config;
    if (thinking_ == Thinking::kBudget) {
      config.set("maxTokens", length_.most);
    } else if (sampling.max_tokens) {
      config.set("maxTokens", *sampling.max_tokens);
    }
    if (thinking_ == Thinking::kNone && anthropic::takes_sampling(request_.model)) {
      const bool claude = anthropic::model_version(request_.model).has_value();
      if (sampling.temperature) config.set("temperature", std::clamp(*sampling.temperature, 0.0, 1.0));
      if (sampling.top_p && !(claude && sampling.temperature)) config.set("topP", *sampling.top_p);
    }
    if (!sampling.stop.empty()) {
      json::Array stop;
      for (const std::string& text : sampling.stop) stop.emplace_back(text);
      config.set("stopSequences", std::move(stop));
    }
    if (!config.empty()) out_.set("inferenceConfig", std::move(config));
  }

  void add_tools() {
    if (request_.tools.empty()) return;
    json::Array tools;
    for (const ToolSpec& tool : request_.tools) {
      json::Value spec = json::Value::object({{"name", tool.name}});
      if (!tool.description.empty()) spec.set("description", tool.description);
      spec.set("inputSchema", json::Value::object({{"json", *tool.parameters}}));
      tools.push_back(json::Value::object({{"toolSpec", std::move(spec)}}));
    }
    json::Value config = json::Value::object({{"tools", std::move(tools)}});
    if (!request_.tool_choice_name.empty()) {
      const json::Value tool = json::Value::object({{"name", request_.tool_choice_name}});
      config.set("toolChoice", json::Value::object({{"tool", tool}}));
    } else if (request_.tool_choice == ToolChoice::kRequired) {
      config.set("toolChoice", json::Value::object({{"any", json::Value::object()}}));
    }
    out_.set("toolConfig", std::move(config));
  }

  void add_thinking() {
    if (thinking_ == Thinking::kNone) return;
    json::Value fields = json::Value::object();
    if (thinking_ == Thinking::kBudget) {
      fields.set("thinking", json::Value::object({{"type", "enabled"}, {"budget_tokens", length_.thoughts}}));
    } else {
      const std::string& effort = request_.sampling.reasoning_effort;
      fields.set("thinking", json::Value::object({{"type", "adaptive"}}));
      fields.set("output_config", json::Value::object({{"effort", effort == "minimal" ? "low" : effort}}));
    }
    out_.set("additionalModelRequestFields", std::move(fields));
  }

  Request request_;
  wire::Turns turns_;
  Thinking thinking_ = Thinking::kNone;
  anthropic::AnswerLength length_;
  json::Value out_ = json::Value::object();
};

}  // namespace

std::string request_body(Request request) { return Body(std::move(request)).text(); }

}  // namespace chela::llm::bedrock
