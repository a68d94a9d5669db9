#include "llm/openai/openai_provider.h"

#include "base/strings.h"
#include "base/utf8.h"
#include "llm/openai/request_body.h"
#include "llm/openai/stream_reader.h"
#include "runtime/stop_scope.h"

namespace chela::llm::openai {
namespace {

// Shorter values are no secrets, and masking them would eat plain words.
constexpr size_t kMinSecretBytes = 6;

// What must not appear in an error, though servers like to quote it.
std::vector<std::string> secrets_of(const Options& options) {
  std::vector<std::string> secrets{options.api_key};
  for (const auto& [name, value] : options.extra_headers) {
    secrets.push_back(value);
    const size_t space = value.find(' ');
    if (space != std::string::npos) secrets.push_back(value.substr(space + 1));  // "Bearer ..."
  }
  std::erase_if(secrets, [](const std::string& secret) { return secret.size() < kMinSecretBytes; });
  return secrets;
}

Result<std::vector<std::string>> read_models(const ErrorContext& errors, std::string_view body) {
  const Result<json::Value> list = json::parse(utf8::sanitize(body));
  const json::Value* data = list ? list->find("data") : nullptr;
  if (data == nullptr || !data->is_array())
    return fail(Code::kUpstream, "{} sent no list of models", errors.server);
  std::vector<std::string> ids;
  for (const json::Value& model : *data->as_array()) {
    std::string id = model.string_or("id");
    if (!id.empty()) ids.push_back(std::move(id));
  }
  return ids;
}

}  // namespace

Result<std::unique_ptr<OpenAiProvider>> OpenAiProvider::create(Options options, net::HttpClient& http,
                                                               runtime::EventLoop& loop) {
  Result<Endpoint> endpoint = Endpoint::from_base_url(options.base_url);
  if (!endpoint) return fail(std::move(endpoint.error()));
  std::shared_ptr<const net::EgressPolicy> egress;
  if (options.unix_socket.empty()) {
    Result<std::shared_ptr<const net::EgressPolicy>> policy =
        net::EgressPolicy::exact_url(endpoint->chat_url);
    if (!policy) return fail(std::move(policy.error()));
    egress = std::move(*policy);
  }
  return std::unique_ptr<OpenAiProvider>(
      new OpenAiProvider(std::move(options), std::move(*endpoint), std::move(egress), http, loop));
}

OpenAiProvider::OpenAiProvider(Options options, Endpoint endpoint,
                               std::shared_ptr<const net::EgressPolicy> egress, net::HttpClient& http,
                               runtime::EventLoop& loop)
    : options_(std::move(options)),
      endpoint_(std::move(endpoint)),
      egress_(std::move(egress)),
      errors_{.server = endpoint_.name, .secrets = secrets_of(options_)},
      http_(http),
      loop_(loop) {}

net::ClientRequest OpenAiProvider::http_request(std::string_view method, const std::string& url) const {
  net::ClientRequest request{.method = std::string(method), .url = url, .egress = egress_};
  if (!options_.unix_socket.empty()) request.unix_socket = options_.unix_socket;
  request.connect_timeout = options_.connect_timeout;
  request.stall_timeout = options_.stall_timeout;
  if (!options_.api_key.empty()) request.headers.set("Authorization", "Bearer " + options_.api_key);
  for (const auto& [name, value] : options_.extra_headers) request.headers.set(name, value);
  return request;
}

Error OpenAiProvider::transport_error(Error error) const {
  if (error.code == Code::kTooLarge) {
    error.code = Code::kUpstream;
    error.with("reason", "answer_too_large").with("retry", "no");
  } else if (error.code == Code::kUnavailable) {
    error.message +=
        fmt::format("; check that the model's server runs and that {} is right", options_.address_key);
  }
  return error;
}

// Reads as much of an error's body as is of use.
Task<Error> OpenAiProvider::refusal(net::ClientStream& response, std::stop_token stop) {
  std::string body;
  while (body.size() < kMaxModelErrorBytes) {
    const Result<std::optional<std::string>> piece = co_await response.read(stop);
    if (!piece && piece.error().code == Code::kCancelled) co_return piece.error();
    if (!piece || !*piece) break;  // the status says enough
    body += **piece;
  }
  co_return from_response(errors_, response.status(), response.headers(), body, loop_.clock().now());
}

Task<Result<Answer>> OpenAiProvider::complete(Request request, DeltaSink sink,
                                              std::optional<SteadyTime> deadline, std::stop_token stop) {
  net::ClientRequest http = http_request("POST", endpoint_.chat_url);
  http.headers.set("Content-Type", "application/json");
  http.headers.set("Accept", "text/event-stream, application/json");
  http.body = request_body(std::move(request), endpoint_);
  http.deadline = deadline;
  http.max_body = options_.max_stream_bytes;
  Result<std::unique_ptr<net::ClientStream>> response = co_await http_.open(std::move(http), stop);
  if (!response) co_return fail(transport_error(std::move(response.error())));
  const int status = (*response)->status();
  if (status < 200 || status > 299) co_return fail(co_await refusal(**response, stop));

  StreamReader reader(errors_, std::move(sink));
  const auto failed = [&reader](Error error) {
    if (reader.streamed()) error.with("streamed", "1");
    return fail(std::move(error));
  };
  std::optional<SteadyTime> patience;  // for what follows the finish reason
  while (true) {
    if (reader.finished() && !patience) patience = loop_.clock().steady() + options_.finish_timeout;
    if (reader.done())
      patience = std::min(patience.value_or(SteadyTime::max()), loop_.clock().steady() + kModelDrainTimeout);
    const runtime::StopScope scope(loop_, stop, patience);
    const Result<std::optional<std::string>> piece = co_await (*response)->read(scope.token());
    if (stop.stop_requested())
      co_return failed(Error{.code = Code::kCancelled, .message = "the model call was cancelled"});
    if (!piece && !patience) co_return failed(transport_error(piece.error()));
    if (!piece || !*piece) break;
    if (Result<> fed = reader.feed(**piece); !fed) co_return failed(std::move(fed.error()));
  }
  Result<Answer> answer = reader.finish();
  if (!answer) co_return failed(std::move(answer.error()));
  co_return answer;
}

Task<Result<std::vector<std::string>>> OpenAiProvider::models(std::stop_token stop) {
  net::ClientRequest http = http_request("GET", endpoint_.models_url);
  http.max_body = kMaxModelAnswerBytes;
  const Result<net::HttpResponse> response = co_await http_.fetch(std::move(http), stop);
  if (!response) co_return fail(transport_error(response.error()));
  if (response->status < 200 || response->status > 299) {
    co_return fail(
        from_response(errors_, response->status, response->headers, response->body, loop_.clock().now()));
  }
  co_return read_models(errors_, response->body);
}

}  // namespace chela::llm::openai
