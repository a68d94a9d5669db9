#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "llm/wire/answer_reader.h"
#include "llm/wire/provider_error.h"
#include "net/http_client.h"
#include "net/url.h"
#include "runtime/event_loop.h"

namespace chela::llm::wire {

// How a model's server is reached: the same for all protocols.
struct ServerOptions {
  std::string base_url;                      // in the forms that root_url() understands
  std::string address_key = "llm.base_url";  // the setting that says base_url
  std::string unix_socket = {};              // connect here instead of to the URL's host
  std::string api_key = {};                  // "" sends none
  std::vector<std::pair<std::string, std::string>> extra_headers =
      {};  // an Authorization here replaces the key's
  std::chrono::milliseconds connect_timeout = kModelConnectTimeout;
  std::chrono::milliseconds stall_timeout = kModelStallTimeout;
  std::chrono::milliseconds finish_timeout = kModelFinishTimeout;
  size_t max_stream_bytes = kMaxModelStreamBytes;
};

// The root of a server's operations, without a slash at its end. People give the base URL in many forms: with or without the version, with
// a slash at the end, or the whole URL of an operation. A path that names no version gets `version` ("/v1"), one that does stays as it
// is, and a whole URL, one that ends with `operation` ("/messages"), is taken at its word.
Result<net::Url> root_url(std::string_view base_url, std::string_view version, std::string_view operation);

// A text as one segment of a path: what is not a letter, a digit or one of -._~ is percent-encoded.
std::string url_segment(std::string_view text);

// One server of models over HTTP: the only part of the adapters that has sockets.
class Server {
 public:
  // `url` is any of its addresses: requests may go to its host and port only.
  static Result<std::unique_ptr<Server>> create(ServerOptions options, const net::Url& url,
                                                net::HttpClient& http, runtime::EventLoop& loop);

  // A request with the headers that let it in; extra headers of the options win over them.
  net::ClientRequest request(std::string_view method, std::string url, net::Headers access) const;

  // Sends a request whose answer is a model's, and feeds the reader with it. Ends soon after the answer is whole, also when the
  // server forgets to close the response.
  Task<Result<Answer>> complete(net::ClientRequest request, std::unique_ptr<AnswerReader> reader,
                                std::optional<SteadyTime> deadline, std::stop_token stop);
  // The JSON document behind a request, of at most `max_body` bytes.
  Task<Result<json::Value>> fetch(net::ClientRequest request, std::stop_token stop,
                                  size_t max_body = kMaxModelAnswerBytes);

  // "Authorization: Bearer KEY", if there is a key.
  net::Headers bearer() const;

  const ErrorContext& errors() const { return errors_; }
  const ServerOptions& options() const { return options_; }
  runtime::EventLoop& loop() const { return loop_; }

 private:
  Server(ServerOptions options, std::string name, std::shared_ptr<const net::EgressPolicy> egress,
         net::HttpClient& http, runtime::EventLoop& loop);

  Error transport_error(Error error) const;
  Task<Error> refusal(net::ClientStream& response, ErrorContext errors, std::stop_token stop);

  ServerOptions options_;
  std::shared_ptr<const net::EgressPolicy> egress_;
  ErrorContext errors_;
  net::HttpClient& http_;
  runtime::EventLoop& loop_;
};

// The texts under `key` of the objects in the list `list_key`: how most servers name their models.
Result<std::vector<std::string>> ids_of(const ErrorContext& errors, const json::Value& document,
                                        std::string_view list_key, std::string_view key);

}  // namespace chela::llm::wire
