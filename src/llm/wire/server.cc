#include "llm/wire/server.h"

#include "base/strings.h"
#include "base/utf8.h"
#include "runtime/stop_scope.h"

namespace chela::llm::wire {
namespace {

// Shorter values are no secrets, and masking them would eat plain words.
constexpr size_t kMinSecretBytes = 6;

// What must not appear in an error, though servers like to quote it.
std::vector<std::string> secrets_of(const ServerOptions& options) {
  std::vector<std::string> secrets{options.api_key};
  for (const auto& [name, value] : options.extra_headers) {
    secrets.push_back(value);
    const size_t space = value.find(' ');
    if (space != std::string::npos) secrets.push_back(value.substr(space + 1));  // "Bearer ..."
  }
  std::erase_if(secrets, [](const std::string& secret) { return secret.size() < kMinSecretBytes; });
  return secrets;
}

// Beside those what this one request carries: keys of an account, whose tokens change from call to call, are headers of it. Refused
// signatures are answered with the text that was to be signed, headers and all.
ErrorContext errors_of(const ErrorContext& errors, const net::Headers& headers) {
  ErrorContext out = errors;
  for (const auto& [name, value] : headers.fields) {
    const std::string known = strings::lower(name);
    const bool secret = known == "authorization" || known.contains("token") || known.contains("key");
    if (secret && value.size() >= kMinSecretBytes) out.secrets.push_back(value);
  }
  return out;
}

// "v1", "v1beta", "v4"
bool is_version(std::string_view segment) {
  return segment.size() >= 2 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9';
}

bool names_version(std::string_view path) {
  for (const std::string_view segment : strings::split(path, '/')) {
    if (is_version(segment)) return true;
  }
  return false;
}

}  // namespace

Result<net::Url> root_url(std::string_view base_url, std::string_view version, std::string_view operation) {
  Result<net::Url> url = net::Url::parse(strings::trim(base_url));
  if (!url) return fail(Code::kInvalidArgument, "llm.base_url: {}", url.error().message);
  while (url->path.ends_with('/')) url->path.pop_back();
  if (!operation.empty() && url->path.ends_with(operation)) {
    url->path.resize(url->path.size() - operation.size());
  } else if (!names_version(url->path)) {
    url->path += version;
  }
  return url;
}

std::string url_segment(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

Result<std::unique_ptr<Server>> Server::create(ServerOptions options, const net::Url& url,
                                               net::HttpClient& http, runtime::EventLoop& loop) {
  std::shared_ptr<const net::EgressPolicy> egress;
  if (options.unix_socket.empty()) {
    Result<std::shared_ptr<const net::EgressPolicy>> policy = net::EgressPolicy::exact_url(url.text());
    if (!policy) return fail(std::move(policy.error()));
    egress = std::move(*policy);
  }
  return std::unique_ptr<Server>(
      new Server(std::move(options), url.host_port(), std::move(egress), http, loop));
}

Server::Server(ServerOptions options, std::string name, std::shared_ptr<const net::EgressPolicy> egress,
               net::HttpClient& http, runtime::EventLoop& loop)
    : options_(std::move(options)),
      egress_(std::move(egress)),
      errors_{.server = std::move(name), .secrets = secrets_of(options_)},
      http_(http),
      loop_(loop) {}

net::ClientRequest Server::request(std::string_view method, std::string url, net::Headers access) const {
  net::ClientRequest request{
      .method = std::string(method), .url = std::move(url), .headers = std::move(access), .egress = egress_};
  if (!options_.unix_socket.empty()) request.unix_socket = options_.unix_socket;
  request.connect_timeout = options_.connect_timeout;
  request.stall_timeout = options_.stall_timeout;
  for (const auto& [name, value] : options_.extra_headers) request.headers.set(name, value);
  return request;
}

net::Headers Server::bearer() const {
  net::Headers headers;
  if (!options_.api_key.empty()) headers.set("Authorization", "Bearer " + options_.api_key);
  return headers;
}

Error Server::transport_error(Error error) const {
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
Task<Error> Server::refusal(net::ClientStream& response, ErrorContext errors, std::stop_token stop) {
  std::string body;
  while (body.size() < kMaxModelErrorBytes) {
    const Result<std::optional<std::string>> piece = co_await response.read(stop);
    if (!piece && piece.error().code == Code::kCancelled) co_return piece.error();
    if (!piece || !*piece) break;  // the status says enough
    body += **piece;
  }
  co_return from_response(errors, response.status(), response.headers(), body, loop_.clock().now());
}

Task<Result<Answer>> Server::complete(net::ClientRequest request, std::unique_ptr<AnswerReader> reader,
                                      std::optional<SteadyTime> deadline, std::stop_token stop) {
  if (request.headers.find("Content-Type") == nullptr)
    request.headers.set("Content-Type", "application/json");
  request.deadline = deadline;
  request.max_body = options_.max_stream_bytes;
  ErrorContext errors = errors_of(errors_, request.headers);
  Result<std::unique_ptr<net::ClientStream>> response = co_await http_.open(std::move(request), stop);
  if (!response) co_return fail(transport_error(std::move(response.error())));
  const int status = (*response)->status();
  if (status < 200 || status > 299) co_return fail(co_await refusal(**response, std::move(errors), stop));

  const auto failed = [&reader](Error error) {
    if (reader->streamed()) error.with("streamed", "1");
    if (reader->said() > 0) error.with("said_bytes", fmt::to_string(reader->said()));
    if (reader->called()) error.with("called", "1");
    return fail(std::move(error));
  };
  std::optional<SteadyTime> patience;  // for what follows the finish reason, anew with each piece of it
  while (true) {
    if (reader->finished()) patience = loop_.clock().steady() + options_.finish_timeout;
    if (reader->done())
      patience = std::min(patience.value_or(SteadyTime::max()), loop_.clock().steady() + kModelDrainTimeout);
    const runtime::StopScope scope(loop_, stop, patience);
    const Result<std::optional<std::string>> piece = co_await (*response)->read(scope.token());
    if (stop.stop_requested())
      co_return failed(Error{.code = Code::kCancelled, .message = "the model call was cancelled"});
    if (!piece && !patience) co_return failed(transport_error(piece.error()));
    if (!piece || !*piece) break;
    if (Result<> fed = reader->feed(**piece); !fed) co_return failed(std::move(fed.error()));
  }
  Result<Answer> answer = reader->finish();
  if (!answer) co_return failed(std::move(answer.error()));
  co_return answer;
}

Task<Result<json::Value>> Server::fetch(net::ClientRequest request, std::stop_token stop, size_t max_body) {
  request.max_body = max_body;
  const ErrorContext errors = errors_of(errors_, request.headers);
  const Result<net::HttpResponse> response = co_await http_.fetch(std::move(request), stop);
  if (!response) co_return fail(transport_error(response.error()));
  if (response->status < 200 || response->status > 299) {
    co_return fail(
        from_response(errors, response->status, response->headers, response->body, loop_.clock().now()));
  }
  Result<json::Value> document = json::parse(utf8::sanitize(response->body));
  if (!document)
    co_return fail(Code::kUpstream, "{} sent something that is no JSON: {}", errors_.server,
                   document.error().message);
  co_return document;
}

Result<std::vector<std::string>> ids_of(const ErrorContext& errors, const json::Value& document,
                                        std::string_view list_key, std::string_view key) {
  const json::Value* list = document.find(list_key);
  if (list == nullptr || !list->is_array())
    return fail(Code::kUpstream, "{} sent no list of models", errors.server);
  std::vector<std::string> ids;
  for (const json::Value& model : *list->as_array()) {
    std::string id = model.string_or(key);
    if (!id.empty()) ids.push_back(std::move(id));
  }
  return ids;
}

}  // namespace chela::llm::wire
