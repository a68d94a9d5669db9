#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "llm/openai/endpoint.h"
#include "llm/openai/provider_error.h"
#include "llm/provider.h"
#include "net/http_client.h"
#include "runtime/event_loop.h"

namespace chela::llm::openai {

struct Options {
  std::string base_url;                      // see Endpoint
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

// Any server that speaks OpenAI's Chat Completions: OpenAI, OpenRouter, Ollama, vLLM, llama.cpp, chela-infer, ...
class OpenAiProvider final : public Provider {
 public:
  static Result<std::unique_ptr<OpenAiProvider>> create(Options options, net::HttpClient& http,
                                                        runtime::EventLoop& loop);

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  OpenAiProvider(Options options, Endpoint endpoint, std::shared_ptr<const net::EgressPolicy> egress,
                 net::HttpClient& http, runtime::EventLoop& loop);

  net::ClientRequest http_request(std::string_view method, const std::string& url) const;
  Error transport_error(Error error) const;
  Task<Error> refusal(net::ClientStream& response, std::stop_token stop);

  Options options_;
  Endpoint endpoint_;
  std::shared_ptr<const net::EgressPolicy> egress_;
  ErrorContext errors_;
  net::HttpClient& http_;
  runtime::EventLoop& loop_;
};

}  // namespace chela::llm::openai
