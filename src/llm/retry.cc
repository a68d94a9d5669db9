#include "llm/retry.h"

#include "llm/failure.h"
#include "obs/log.h"
#include "runtime/sleep.h"

namespace chela::llm {
namespace {

using std::chrono::milliseconds;

}  // namespace

std::optional<milliseconds> RetryProvider::pause(const Error& error, int failures,
                                                 std::optional<SteadyTime> deadline) {
  if (failures > max_retries_ || !passes(error) || error.detail("streamed") == "1") return std::nullopt;
  milliseconds wait = std::min<milliseconds>(kRetryBase * (1LL << std::min(failures - 1, 16)), kRetryCeiling);
  const auto quarter = static_cast<std::uint64_t>(wait.count() / 4);
  wait += milliseconds(static_cast<std::int64_t>(ids_.random() % (2 * quarter + 1)) -
                       static_cast<std::int64_t>(quarter));
  if (error.retry_after) {
    // Whoever asks for longer is better answered by another provider or later by a person.
    if (*error.retry_after > kRetryCeiling) return std::nullopt;
    wait = std::max<milliseconds>(*error.retry_after, 0ms);
  }
  if (deadline && loop_.clock().steady() + wait >= *deadline) return std::nullopt;
  return wait;
}

Task<Result<Answer>> RetryProvider::complete(Request request, DeltaSink sink,
                                             std::optional<SteadyTime> deadline, std::stop_token stop) {
  bool streamed = false;
  const DeltaSink watching = [&streamed, &sink](const Delta& delta) {
    streamed = true;
    if (sink) sink(delta);
  };
  for (int failures = 1;; ++failures) {
    Result<Answer> answer = co_await inner_.complete(request, watching, deadline, stop);
    if (answer || streamed || stop.stop_requested()) co_return answer;
    const std::optional<milliseconds> wait = pause(answer.error(), failures, deadline);
    if (!wait) {
      if (failures > 1) answer.error().with("attempts", fmt::to_string(failures));
      co_return answer;
    }
    log::warn("llm", "the model call failed and is tried again",
              {{"model", request.model},
               {"error", answer.error().text()},
               {"failures", failures},
               {"wait_ms", wait->count()}});
    const Result<> slept = co_await runtime::sleep_for(loop_, *wait, stop);
    if (!slept) co_return fail(Code::kCancelled, "the model call was cancelled");
  }
}

Task<Result<std::vector<std::string>>> RetryProvider::models(std::stop_token stop) {
  return inner_.models(std::move(stop));
}

}  // namespace chela::llm
