#pragma once

#include <memory>

#include "llm/bedrock/credentials.h"
#include "llm/provider.h"
#include "llm/wire/server.h"

namespace chela::llm::bedrock {

// The region that an address means: its own, unless it is the one of the entry of providers (`address_key` says what says it), which stands
// for the account's region, or none of AWS's.
std::string region_at(const net::Url& root, std::string_view address_key, const Variables& variables);
// The id of a model in a geography ("eu"), also where the id names another; "" leaves it alone.
std::string in_geography(std::string model, const std::string& geography);

// AWS Bedrock's Converse. With an API key (a bearer token) requests carry it; without one they are signed with the account's keys.
class BedrockProvider final : public Provider {
 public:
  static Result<std::unique_ptr<BedrockProvider>> create(wire::ServerOptions options, Variables variables,
                                                         net::HttpClient& http, runtime::EventLoop& loop);

  Task<Result<Answer>> complete(Request request, DeltaSink sink, std::optional<SteadyTime> deadline,
                                std::stop_token stop) override;
  Task<Result<std::vector<std::string>>> models(std::stop_token stop) override;

 private:
  BedrockProvider(std::string root, std::string region, std::string geography, Credentials credentials,
                  std::unique_ptr<wire::Server> server, std::string control_root,
                  std::unique_ptr<wire::Server> control);

  Task<Result<net::ClientRequest>> let_in(net::ClientRequest request, std::stop_token stop);
  std::string id_of(const std::string& model) const;

  std::string root_;       // "https://bedrock-runtime.eu-west-1.amazonaws.com"
  std::string region_;     // "eu-west-1"
  std::string geography_;  // "eu": requests may be answered in any of its regions; "" = in this one
  Credentials credentials_;
  std::unique_ptr<wire::Server> server_;
  std::string control_root_;  // where models are listed: another host than that which answers
  std::unique_ptr<wire::Server> control_;
};

}  // namespace chela::llm::bedrock
