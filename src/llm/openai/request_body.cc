#include "llm/openai/request_body.h"

#include <algorithm>

namespace chela::llm::openai {
namespace {

constexpr std::string_view kNoResult = "(no result of this call is known)";

class Orderer {
 public:
  void add(Message message) {
    if (message.role == Role::kTool) {
      const auto open = std::ranges::find(open_, message.tool_call_id);
      if (open != open_.end()) {
        open_.erase(open);
      } else {
        message = as_user_text(std::move(message));
      }
    }
    if (message.role != Role::kTool) close();
    for (const ToolCall& call : message.tool_calls) open_.push_back(call.id);
    out_.push_back(std::move(message));
  }

  std::vector<Message> finish() {
    close();
    return std::move(out_);
  }

 private:
  static Message as_user_text(Message message) {
    const std::string_view name = message.name.empty() ? "a tool" : std::string_view(message.name);
    return Message{.role = Role::kUser,
                   .content = fmt::format("[Earlier result of {}]\n{}", name, message.content)};
  }

  void close() {
    for (std::string& id : open_) {
      out_.push_back(
          Message{.role = Role::kTool, .content = std::string(kNoResult), .tool_call_id = std::move(id)});
    }
    open_.clear();
  }

  std::vector<Message> out_;
  std::vector<std::string> open_;  // announced and not answered yet
};

void write_tools_to(std::string& out, const std::vector<ToolSpec>& tools) {
  char separator = '[';
  for (const ToolSpec& tool : tools) {
    out += std::exchange(separator, ',');
    out += R"({"type":"function","function":{"name":)";
    json::write_string_to(out, tool.name);
    out += R"(,"description":)";
    json::write_string_to(out, tool.description);
    out += R"(,"parameters":)";
    json::write_to(out, tool.parameters);
    out += "}}";
  }
  out += ']';
}

}  // namespace

std::vector<Message> well_ordered(std::vector<Message> messages) {
  Orderer orderer;
  for (Message& message : messages) orderer.add(std::move(message));
  return orderer.finish();
}

std::string request_body(Request request, const Endpoint& endpoint) {
  request.messages = well_ordered(std::move(request.messages));
  // A client's own wish about streaming concerns its answer, not this call.
  request.extra.erase("stream");
  request.extra.erase("stream_options");
  // Tools are written straight into the text: as values their schemas, by far the largest part, would be copied for every call.
  const std::vector<ToolSpec> tools = std::exchange(request.tools, {});
  if (!tools.empty()) request.tools.emplace_back();  // what depends on there being tools stays
  json::Value body = to_json(request);
  if (!tools.empty()) body.as_object()->erase("tools");
  if (endpoint.is_openai && request.sampling.max_tokens) {
    // OpenAI's reasoning models refuse the older name; other servers often know only that one.
    body.as_object()->erase("max_tokens");
    body.set("max_completion_tokens", *request.sampling.max_tokens);
  }
  body.set("stream", true);
  body.set("stream_options", json::Value::object({{"include_usage", true}}));
  std::string text = json::write(body);
  if (tools.empty()) return text;
  text.pop_back();
  text += ",\"tools\":";
  write_tools_to(text, tools);
  return text + "}";
}

}  // namespace chela::llm::openai
