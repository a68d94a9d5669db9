#include "llm/cache/response_cache.h"

#include "crypto/hash.h"
#include "llm/cache/limits.h"
#include "obs/log.h"

namespace chela::llm::cache {
namespace {

constexpr std::string_view kMetric = "chela_response_cache_total";
constexpr std::string_view kHelp = "Model calls that the response cache looked for, by what it found.";

Task<> note(Task<Result<>> write) {
  if (const Result<> done = co_await std::move(write); !done)
    log::warn("llm", "the response cache could not be written", {{"error", done.error().message}});
}

std::string body_of(const Answer& answer) {
  json::Value body = json::Value::object({{"text", answer.text}, {"model", answer.model}});
  if (!answer.reasoning.empty()) body.set("reasoning", answer.reasoning);
  if (!answer.provider.empty()) body.set("provider", answer.provider);
  return json::write(body);
}

bool may_be_kept(const Answer& answer) {
  return answer.finish_reason == FinishReason::kStop && !answer.text.empty() && answer.tool_calls.empty() &&
         answer.provider_data.empty();
}

}  // namespace

ResponseCache::ResponseCache(Parts parts)
    : parts_(std::move(parts)),
      hits_(parts_.metrics.counter(kMetric, kHelp, {{"found", "hit"}})),
      misses_(parts_.metrics.counter(kMetric, kHelp, {{"found", "miss"}})),
      writes_(parts_.loop) {}

std::optional<std::string> ResponseCache::key_of(const Request& request) const {
  if (!parts_.rules().enabled || !request.tools.empty()) return std::nullopt;
  // Tools of a client that the request carries as they came.
  if (request.extra.find("tools") != nullptr || request.extra.find("functions") != nullptr)
    return std::nullopt;
  Request asked = request;
  for (Message& message : asked.messages) {
    for (Image& image : message.images) image.bytes.reset();  // its hash says which it is
  }
  const json::Value whole =
      json::Value::object({{"provider", parts_.provider(request.model)}, {"request", to_json(asked)}});
  return crypto::sha256_hex(json::canonical(whole));
}

Task<std::optional<ResponseCache::Hit>> ResponseCache::find(Scope scope, std::string key) {
  const UnixMs since = now() - parts_.rules().ttl.count();
  const auto found = co_await parts_.store.find(scope, key, since);
  if (!found) log::warn("llm", "the response cache could not be read", {{"error", found.error().message}});
  const Result<json::Value> body =
      found && *found ? json::parse((*found)->body) : fail(Code::kNotFound, "nothing was kept");
  const std::string text = body ? body->string_or("text") : "";
  if (text.empty()) {
    misses_.add();
    co_return std::nullopt;
  }
  hits_.add();
  writes_.spawn(note(parts_.store.touch(std::move(scope), std::move(key), now())));
  co_return Hit{.answer = {.text = text,
                           .reasoning = body->string_or("reasoning"),
                           .finish_reason = FinishReason::kStop,
                           .model = body->string_or("model"),
                           .provider = body->string_or("provider")},
                .at = (*found)->at};
}

void ResponseCache::keep(Scope scope, std::string key, const Answer& answer) {
  if (!may_be_kept(answer)) return;
  std::string body = body_of(answer);
  if (body.size() > kMaxCachedAnswerBytes) return;
  const CacheRules rules = parts_.rules();
  const store::ResponseCacheStore::Limits limits{.since = now() - rules.ttl.count(),
                                                 .max_entries = rules.max_entries};
  writes_.spawn(note(parts_.store.put(std::move(scope), std::move(key), std::move(body), now(), limits)));
}

}  // namespace chela::llm::cache
