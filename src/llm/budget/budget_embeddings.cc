#include "llm/budget/budget_embeddings.h"

#include "llm/budget/charged.h"

namespace chela::llm::budget {
namespace {

// What the ledger is asked for: the texts are the prompt, and nothing is answered that costs by length.
Request as_call(const EmbeddingRequest& request) {
  Request call{.model = request.model, .sampling = {.max_tokens = 1}, .caller = request.caller};
  for (const std::string& text : request.texts) call.messages.push_back({.content = text});
  return call;
}

}  // namespace

Task<Result<Embeddings>> BudgetEmbeddings::embed(EmbeddingRequest request, std::optional<SteadyTime> deadline,
                                                 std::stop_token stop) {
  const Result<Lease> lease = co_await budget_.reserve(as_call(request));
  if (!lease) co_return fail(lease.error());
  if (stop.stop_requested()) {
    budget_.release(*lease);
    co_return fail(Code::kCancelled, "the call was cancelled");
  }
  std::size_t bytes = 0;
  for (const std::string& text : request.texts) bytes += text.size();
  Result<Embeddings> made = co_await inner_.embed(std::move(request), deadline, stop);
  if (made) {
    const bool told = made->input_tokens > 0;
    if (!told) made->input_tokens = estimate_answer_tokens(bytes);
    budget_.settle(*lease, {.input_tokens = made->input_tokens},
                   told ? Budget::Source::kReported : Budget::Source::kEstimated);
  } else if (may_be_charged(made.error(), false)) {
    budget_.settle(*lease, {.input_tokens = lease->prompt.tokens}, Budget::Source::kEstimated);
  } else {
    budget_.release(*lease);
  }
  co_return made;
}

}  // namespace chela::llm::budget
