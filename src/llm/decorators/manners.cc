#include "llm/decorators/manners.h"

#include <algorithm>

#include "llm/decorators/call_ids.h"
#include "llm/decorators/strict_schema.h"
#include "llm/decorators/tool_names.h"

namespace chela::llm {
namespace {

void rename(Request& request, const PlainToolNames& names) {
  for (ToolSpec& tool : request.tools) tool.name = names.plain(tool.name);
  if (!request.tool_choice_name.empty()) request.tool_choice_name = names.plain(request.tool_choice_name);
  for (Message& message : request.messages) {
    for (ToolCall& call : message.tool_calls) call.name = names.plain(call.name);
    if (message.role == Role::kTool && !message.name.empty()) message.name = names.plain(message.name);
  }
}

// The arguments as the tool's own schema has them; what is no JSON stays as the model wrote it.
void fit_arguments(ToolCall& call, const std::vector<ToolSpec>& tools) {
  const auto tool = std::ranges::find(tools, call.name, &ToolSpec::name);
  if (tool == tools.end()) return;
  const Result<json::Value> arguments = json::parse(call.arguments);
  if (!arguments) return;
  const json::Value plain = without_fillers(*arguments, tool->parameters);
  if (!(plain == *arguments)) call.arguments = json::write(plain);
}

bool is_thinker(const Quirks& quirks, std::string_view model) {
  return std::ranges::any_of(quirks.thinking_models,
                             [model](const std::string& start) { return model.starts_with(start); });
}

}  // namespace

void leave_out(Request& request, const std::vector<std::string>& params) {
  Sampling& sampling = request.sampling;
  for (const std::string& each : params) {
    if (each == "temperature") sampling.temperature.reset();
    if (each == "top_p") sampling.top_p.reset();
    if (each == "presence_penalty") sampling.presence_penalty.reset();
    if (each == "frequency_penalty") sampling.frequency_penalty.reset();
    if (each == "max_tokens") sampling.max_tokens.reset();
    if (each == "seed") sampling.seed.reset();
    if (each == "stop") sampling.stop.clear();
    if (each == "response_format") sampling.response_format.reset();
    if (each == "reasoning_effort") sampling.reasoning_effort.clear();
    if (each == "parallel_tool_calls") sampling.parallel_tool_calls.reset();
    request.extra.erase(each);
  }
}

std::vector<Message> alternating(std::vector<Message> messages) {
  std::vector<Message> out;
  for (Message& message : messages) {
    const bool joins = !out.empty() && out.back().role == message.role &&
                       (message.role == Role::kUser || message.role == Role::kAssistant);
    if (!joins) {
      out.push_back(std::move(message));
      continue;
    }
    Message& before = out.back();
    if (!before.content.empty() && !message.content.empty()) before.content += "\n\n";
    before.content += message.content;
    std::ranges::move(message.tool_calls, std::back_inserter(before.tool_calls));
    std::ranges::move(message.images, std::back_inserter(before.images));
  }
  return out;
}

Task<Result<Answer>> MannersProvider::complete(Request request, DeltaSink sink,
                                               std::optional<SteadyTime> deadline, std::stop_token stop) {
  request.model = naming_(request.model);
  leave_out(request, quirks_.unsupported_params);
  if (is_thinker(quirks_, request.model)) leave_out(request, quirks_.thinking_unsupported_params);
  if (quirks_.alternate_roles) request.messages = alternating(std::move(request.messages));
  if (quirks_.call_ids != CallIds::kAny) {
    CallIdMapping ids(quirks_.call_ids);
    for (Message& message : request.messages) ids.map(message);
  }
  std::vector<ToolSpec> tools;  // as they were asked for
  if (quirks_.strict_schemas) {
    tools = request.tools;
    for (ToolSpec& tool : request.tools) tool.parameters = strict_schema(tool.parameters);
  }
  std::optional<PlainToolNames> names;
  if (quirks_.tool_names == ToolNames::kPlain) {
    names.emplace(request.tools);
    rename(request, *names);
  }
  Result<Answer> answer =
      co_await inner_.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  if (!answer) co_return answer;
  for (ToolCall& call : answer->tool_calls) {
    if (names) call.name = names->own(call.name);
    if (!tools.empty()) fit_arguments(call, tools);
  }
  co_return answer;
}

Task<Result<std::vector<std::string>>> MannersProvider::models(std::stop_token stop) {
  return inner_.models(std::move(stop));
}

}  // namespace chela::llm
