#include "llm/budget/budget_provider.h"

#include <algorithm>
#include <charconv>

#include "llm/budget/charged.h"

namespace chela::llm::budget {
namespace {

// What came of an answer that failed. Calls are no deltas: the reader of the answer says how much there was of all.
size_t said_before(const Error& error) {
  size_t bytes = 0;
  const std::string_view said = error.detail("said_bytes");
  std::from_chars(said.data(), said.data() + said.size(), bytes);
  return bytes;
}

}  // namespace

Task<Result<Answer>> BudgetProvider::complete(Request request, DeltaSink sink,
                                              std::optional<SteadyTime> deadline, std::stop_token stop) {
  const Result<Lease> lease = co_await budget_.reserve(request);
  if (!lease) co_return fail(lease.error());
  if (stop.stop_requested()) {
    budget_.release(*lease);
    co_return fail(Code::kCancelled, "the model call was cancelled");
  }
  if (lease->max_tokens) request.sampling.max_tokens = lease->max_tokens;
  size_t bytes = 0;
  const DeltaSink counting = [&bytes, &sink](const Delta& delta) {
    bytes += delta.text.size() + delta.reasoning.size();
    if (sink) sink(delta);
  };
  Result<Answer> answer = co_await inner_.complete(std::move(request), counting, deadline, stop);
  if (answer && (answer->usage.input_tokens > 0 || answer->usage.output_tokens > 0)) {
    budget_.settle(*lease, answer->usage, Budget::Source::kReported);
    co_return answer;
  }
  // Nobody has counted: the prompt as it was reserved, and what came of the answer.
  if (answer) {
    size_t said = answer->text.size() + answer->reasoning.size();
    for (const ToolCall& call : answer->tool_calls) said += call.name.size() + call.arguments.size();
    bytes = std::max(bytes, said);
  }
  if (!answer) bytes = std::max(bytes, said_before(answer.error()));
  if (answer || may_be_charged(answer.error(), bytes > 0)) {
    budget_.settle(*lease,
                   {.input_tokens = lease->prompt.tokens, .output_tokens = estimate_answer_tokens(bytes)},
                   Budget::Source::kEstimated);
  } else {
    budget_.release(*lease);
  }
  co_return answer;
}

}  // namespace chela::llm::budget
