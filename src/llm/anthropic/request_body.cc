#include "llm/anthropic/request_body.h"

#include <algorithm>

#include "base/base64.h"
#include "llm/anthropic/limits.h"
#include "llm/anthropic/model_version.h"
#include "llm/wire/provider_data.h"
#include "llm/wire/turns.h"

namespace chela::llm::anthropic {
namespace {

using wire::Part;
using wire::Turn;

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
  if (!part.text.empty()) block.set("content", part.text);
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

// The blocks of an answer in the order in which they came, thoughts as they were signed: see StreamReader::complete().
// Nothing when it says something else than the turn does.
std::optional<json::Array> blocks_with_thoughts(const Turn& turn, const json::Value& kept) {
  const json::Array* order = kept.as_array();
  if (order == nullptr) return std::nullopt;
  std::string_view text;
  std::vector<const ToolCall*> calls;
  for (const Part& part : turn.parts) {
    if (part.kind == Part::Kind::kText) text = part.text;
    if (part.kind == Part::Kind::kCall) calls.push_back(&part.call);
  }
  json::Array out;
  size_t call = 0;
  for (const json::Value& block : *order) {
    const std::string type = block.string_or("type");
    if (type == "text") {
      const std::int64_t size = block.int_or("size", -1);
      if (size <= 0 || static_cast<size_t>(size) > text.size()) return std::nullopt;
      out.push_back(text_block(text.substr(0, static_cast<size_t>(size))));
      text.remove_prefix(static_cast<size_t>(size));
    } else if (type == "tool_use") {
      if (call == calls.size()) return std::nullopt;
      out.push_back(call_block(*calls[call++]));
    } else {
      out.push_back(block);
    }
  }
  if (!text.empty() || call != calls.size()) return std::nullopt;
  return out;
}

bool calls_tools(const Turn& turn) {
  return std::ranges::any_of(turn.parts, [](const Part& part) { return part.kind == Part::Kind::kCall; });
}

bool has_results(const Turn& turn) {
  return std::ranges::any_of(turn.parts, [](const Part& part) { return part.kind == Part::Kind::kResult; });
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
    out_.set("model", request_.model);
    out_.set("max_tokens", max_tokens());
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

  // With thoughts the steps of one turn must all begin with theirs: when those of one are not there (another provider made it, or
  // a client of /v1 sent it), the model goes on without. A forced call and thoughts exclude each other.
  void choose_thinking() {
    const std::string& effort = request_.sampling.reasoning_effort;
    if (effort.empty() || effort == "none") return;
    const bool forced = !request_.tools.empty() &&
                        (!request_.tool_choice_name.empty() || request_.tool_choice == ToolChoice::kRequired);
    if (forced) return;
    for (const Turn& turn : turns_.turns) {
      if (turn.role == Role::kUser && !has_results(turn)) complete_ = true;
      if (turn.role == Role::kAssistant && calls_tools(turn) && !thoughts_of(turn)) complete_ = false;
    }
    if (complete_) thinking_ = thinking_of(request_.model);
  }

  static std::optional<json::Array> thoughts_of(const Turn& turn) {
    const std::optional<json::Value> kept = wire::provider_data_of("anthropic", turn.provider_data);
    return kept ? blocks_with_thoughts(turn, *kept) : std::nullopt;
  }

  std::int64_t budget() const {
    const std::string& effort = request_.sampling.reasoning_effort;
    if (effort == "high" || effort == "xhigh" || effort == "max") return 16 * kMinThinkingTokens;
    return effort == "medium" ? 4 * kMinThinkingTokens : kMinThinkingTokens;
  }

  // The budget is part of the longest answer.
  std::int64_t max_tokens() const {
    const std::optional<ModelVersion> version = model_version(request_.model);
    const bool old = version && *version == ModelVersion{3, 0};
    const std::int64_t answer = std::max<std::int64_t>(
        1, request_.sampling.max_tokens.value_or(old ? kOldMaxTokens : kDefaultMaxTokens));
    return thinking_ == Thinking::kBudget ? answer + budget() : answer;
  }

  void add_messages() {
    json::Array messages;
    for (const Turn& turn : turns_.turns) {
      std::optional<json::Array> blocks;
      if (thinking_ != Thinking::kNone && turn.role == Role::kAssistant) blocks = thoughts_of(turn);
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
      out_.set("thinking", json::Value::object({{"type", "enabled"}, {"budget_tokens", budget()}}));
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
  bool complete_ = true;
  json::Object output_;
  json::Value out_ = json::Value::object();
};

}  // namespace

std::string request_body(Request request) { return Body(std::move(request)).text(); }

}  // namespace chela::llm::anthropic
