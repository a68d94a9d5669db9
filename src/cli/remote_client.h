#pragma once

#include "cli/client.h"
#include "net/http_client.h"
#include "op/registry.h"

namespace chela::cli {

// Calls the operations of the engine that runs, over its Unix socket. The registry only says where each operation is.
class RemoteClient final : public Client {
 public:
  RemoteClient(net::HttpClient& http, const op::Registry& registry, std::string socket)
      : http_(http), registry_(registry), socket_(std::move(socket)) {}

  Task<Result<json::Value>> call(std::string operation, json::Value args, std::stop_token stop) override;
  Task<Result<std::unique_ptr<EventReader>>> open(std::string operation, json::Value args,
                                                  std::stop_token stop) override;
  Task<> close() override;

 private:
  net::HttpClient& http_;
  const op::Registry& registry_;
  std::string socket_;
};

// The request that calls an operation over its first gateway route. kUnsupported for one without a route.
Result<net::ClientRequest> make_request(const op::Registry& registry, const std::string& operation,
                                        const json::Value& args);

// The error in an answer's body, or one made from its status.
Error error_from_response(int status, std::string_view body);

}  // namespace chela::cli
