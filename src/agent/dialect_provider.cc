#include "agent/dialect_provider.h"

#include "agent/answer_reader.h"
#include "agent/dialects/prompted.h"

namespace chela::agent {
namespace {

// What the model may call.
dialects::ToolSet callable(const llm::Request& request) {
  if (request.tools.empty() || request.tool_choice == llm::ToolChoice::kNone) return {};
  std::vector<dialects::Tool> tools;
  tools.reserve(request.tools.size());
  for (const llm::ToolSpec& each : request.tools)
    tools.push_back({.name = each.name, .parameters = each.parameters});
  return dialects::ToolSet(std::move(tools));
}

bool says_something(const llm::Delta& delta) {
  return delta.reset || !delta.text.empty() || !delta.reasoning.empty();
}

}  // namespace

Task<Result<llm::Answer>> DialectProvider::complete(llm::Request request, llm::DeltaSink sink,
                                                    std::optional<SteadyTime> deadline,
                                                    std::stop_token stop) {
  AnswerReader reader(callable(request), dialects::Unread::kShown);
  if (calling_ == llm::ToolCalling::kPrompted) request = dialects::prompted(std::move(request));
  const auto read = [&reader, &sink](const llm::Delta& delta) {
    const llm::Delta shown = reader.feed(delta);
    if (says_something(shown)) sink(shown);
  };
  Result<llm::Answer> answer = co_await inner_.complete(std::move(request), read, deadline, std::move(stop));
  if (!answer) co_return answer;
  AnswerReader::Result result = reader.finish(std::move(*answer));
  if (says_something(result.rest)) sink(result.rest);
  co_return std::move(result.answer);
}

Task<Result<std::vector<std::string>>> DialectProvider::models(std::stop_token stop) {
  return inner_.models(std::move(stop));
}

}  // namespace chela::agent
