#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "base/time.h"
#include "net/egress.h"
#include "net/http.h"
#include "runtime/task.h"

namespace chela::net {

struct ClientRequest {
  std::string method = "GET";
  std::string url;  // http or https
  Headers headers = {};
  std::string body = {};
  std::optional<std::string> unix_socket = {};  // connect here; the URL then gives only path and Host header
  std::chrono::milliseconds connect_timeout = kModelConnectTimeout;
  std::chrono::milliseconds stall_timeout = kModelStallTimeout;  // no byte from the server for so long
  std::optional<SteadyTime> deadline = std::nullopt;             // for the whole exchange
  int max_redirects = 0;                                         // 0: a redirect is an answer like any other
  size_t max_body = kMaxClientBodyBytes;  // more is kTooLarge; SIZE_MAX for endless streams
  // Where the request may go, redirects included. Required unless unix_socket is set: who calls must have decided.
  std::shared_ptr<const EgressPolicy> egress = {};
};

// One response whose body is still coming. The destructor cancels the transfer. Loop thread only.
class ClientStream {
 public:
  virtual ~ClientStream() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  // The next bytes; nothing at the clean end. A body that was cut is kUpstream, a stall or the deadline kTimeout, a stop kCancelled
  // (which ends the transfer). One reader at a time. When the reader is slow the transfer pauses.
  virtual Task<Result<std::optional<std::string>>> read(std::stop_token stop) = 0;
};

// Makes requests. Any status is a success here; failures are those of the transport:
//   kInvalidArgument  malformed URL or header, no egress policy      kPermissionDenied  refused by the egress policy
//   kUnavailable      refused, unresolvable, unreachable             kTimeout           connect, stall, deadline
//   kUpstream         garbage, cut, TLS failure, redirect loop       kCancelled         stopped; takes effect at once
// Messages name host and port, never headers, bodies or the query. Loop thread only.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // The whole response.
  virtual Task<Result<HttpResponse>> fetch(ClientRequest request, std::stop_token stop) = 0;
  // Returns when the response's headers are there.
  virtual Task<Result<std::unique_ptr<ClientStream>>> open(ClientRequest request, std::stop_token stop) = 0;
};

}  // namespace chela::net
