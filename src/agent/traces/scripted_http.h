#pragma once

#include <string>
#include <vector>

#include "agent/traces/trace.h"
#include "net/http_client.h"

namespace chela::agent::traces {

// Stands for the network: answers requests with what a trace recorded, in its order and whatever is asked for; then with 599. What the
// caller's egress policy refuses is refused here too. Loop thread only.
class ScriptedHttp final : public net::HttpClient {
 public:
  explicit ScriptedHttp(std::vector<TraceExchange> exchanges) : exchanges_(std::move(exchanges)) {}

  Task<Result<net::HttpResponse>> fetch(net::ClientRequest request, std::stop_token stop) override;
  Task<Result<std::unique_ptr<net::ClientStream>>> open(net::ClientRequest request,
                                                        std::stop_token stop) override;

  // Requests that were not those of the trace.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Result<net::HttpResponse> next(const net::ClientRequest& request);

  const std::vector<TraceExchange> exchanges_;
  size_t next_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace chela::agent::traces
