#include "llm/nearai/nearai_provider.h"

#include "llm/wire/turns.h"

namespace chela::llm::nearai {
namespace {

constexpr std::string_view kForKeys = "https://cloud-api.near.ai";
constexpr std::string_view kForSessions = "https://private.near.ai";

}  // namespace

Result<std::unique_ptr<NearAiProvider>> NearAiProvider::create(wire::ServerOptions options,
                                                               Variables variables, net::HttpClient& http,
                                                               runtime::EventLoop& loop) {
  if (options.api_key.empty() && options.base_url.starts_with(kForKeys)) options.base_url = kForSessions;
  std::unique_ptr<NearAiProvider> made(
      new NearAiProvider(std::move(options), std::move(variables), http, loop));
  if (const auto inner = made->current(); !inner) return fail(inner.error());
  return made;
}

Result<std::shared_ptr<openai::OpenAiProvider>> NearAiProvider::current() {
  std::string token = options_.api_key.empty() ? session_token(variables_) : options_.api_key;
  if (inner_ && token == token_) return inner_;
  wire::ServerOptions options = options_;
  options.api_key = token;
  Result<std::unique_ptr<openai::OpenAiProvider>> made =
      openai::OpenAiProvider::create(std::move(options), http_, loop_);
  if (!made) return fail(std::move(made.error()));
  inner_ = std::move(*made);
  token_ = std::move(token);
  return inner_;
}

Task<Result<Answer>> NearAiProvider::complete(Request request, DeltaSink sink,
                                              std::optional<SteadyTime> deadline, std::stop_token stop) {
  request.messages = wire::without_tool_messages(std::move(request.messages));
  const Result<std::shared_ptr<openai::OpenAiProvider>> first = current();
  if (!first) co_return fail(first.error());
  Result<Answer> answer = co_await (*first)->complete(request, sink, deadline, stop);
  if (!answer && answer.error().code == Code::kUnauthenticated && answer.error().detail("streamed") != "1") {
    // Another program may have renewed the session meanwhile.
    const Result<std::shared_ptr<openai::OpenAiProvider>> renewed = current();
    if (renewed && *renewed != *first)
      answer = co_await (*renewed)->complete(std::move(request), sink, deadline, std::move(stop));
  }
  if (answer && answer->text.empty() && answer->tool_calls.empty() && !answer->reasoning.empty()) {
    // Some of its models say everything as reasoning.
    answer->text = answer->reasoning;
    if (sink) sink({.text = answer->text, .reasoning = {}});
  }
  co_return answer;
}

Task<Result<std::vector<std::string>>> NearAiProvider::models(std::stop_token stop) {
  const Result<std::shared_ptr<openai::OpenAiProvider>> inner = current();
  if (!inner) co_return fail(inner.error());
  co_return co_await (*inner)->models(std::move(stop));
}

}  // namespace chela::llm::nearai
