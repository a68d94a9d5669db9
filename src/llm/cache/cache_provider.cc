#include "llm/cache/cache_provider.h"

namespace chela::llm::cache {

Task<Result<Answer>> CacheProvider::complete(Request request, DeltaSink sink,
                                             std::optional<SteadyTime> deadline, std::stop_token stop) {
  const std::optional<std::string> key = cache_.key_of(request);
  if (!key)
    co_return co_await inner_.complete(std::move(request), std::move(sink), deadline, std::move(stop));
  const Scope scope = request.caller.scope;
  std::optional<ResponseCache::Hit> hit = co_await cache_.find(scope, *key);
  if (stop.stop_requested()) co_return fail(Code::kCancelled, "the model call was cancelled");
  if (hit) {
    if (request.caller.chosen) {
      request.caller.chosen(json::Value::object(
          {{"provider", hit->answer.provider},
           {"model", hit->answer.model},
           {"reason", fmt::format("the same was answered {} s ago", (cache_.now() - hit->at) / 1000)},
           {"cached", true}}));
    }
    if (sink) sink({.text = hit->answer.text, .reasoning = hit->answer.reasoning});
    co_return std::move(hit->answer);
  }
  // An answer of another model than was asked is not that model's for an hour to come.
  const auto another = std::make_shared<bool>(false);
  request.caller.chosen = [another, chosen = std::move(request.caller.chosen)](const json::Value& choice) {
    *another = true;
    if (chosen) chosen(choice);
  };
  Result<Answer> answer = co_await inner_.complete(std::move(request), std::move(sink), deadline, stop);
  if (answer && !*another) cache_.keep(scope, *key, *answer);
  co_return answer;
}

}  // namespace chela::llm::cache
