#include "llm/openai/request_body.h"

#include "llm/wire/turns.h"

namespace chela::llm::openai {
namespace {

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

std::string request_body(Request request, const Endpoint& endpoint) {
  request.messages = wire::well_ordered(std::move(request.messages));
  for (Message& message : request.messages) message.provider_data.clear();  // of other protocols
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
