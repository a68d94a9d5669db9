#pragma once

#include <functional>
#include <optional>
#include <string>

#include "llm/bedrock/sign.h"
#include "net/http_client.h"
#include "runtime/event_loop.h"

namespace chela::llm::bedrock {

// A variable of the environment; "" when it is not set.
using Variables = std::function<std::string(std::string_view name)>;

// The region by AWS's and IronClaw's variables, then by the profile; "us-east-1" when nobody says one.
std::string region_of(const Variables& variables);

// Keys of an AWS account: from variables, the shared files (AWS_PROFILE or "default"), the container's address, the machine's metadata (version
// 2), in this order. Those of the last two are kept until shortly before they expire. Roles to be assumed, single sign-on, web identities
// and programs that print keys are not performed: where one of them is what the account's owner chose, calls are refused and never made as
// somebody else. Loop thread only.
class Credentials {
 public:
  Credentials(Variables variables, net::HttpClient& http, runtime::EventLoop& loop)
      : variables_(std::move(variables)), http_(http), loop_(loop) {}

  // kUnauthenticated, with what to do, when there are none, or such as are not performed.
  Task<Result<Keys>> get(std::stop_token stop);
  // What was fetched was refused: the next call fetches anew.
  void forget() { fetched_.reset(); }

 private:
  Result<std::optional<Keys>> written_down() const;
  Task<Result<Keys>> fetch(std::stop_token stop);
  Task<Result<Keys>> from_container(std::string url, std::stop_token stop);
  Task<Result<Keys>> from_machine(std::stop_token stop);
  Task<Result<std::string>> ask(std::string method, std::string url, net::Headers headers,
                                std::stop_token stop);

  Variables variables_;
  net::HttpClient& http_;
  runtime::EventLoop& loop_;
  std::optional<Keys> fetched_;
};

// The answer of a container's or a machine's metadata. kUpstream when it is none.
Result<Keys> keys_from_json(std::string_view text);

}  // namespace chela::llm::bedrock
