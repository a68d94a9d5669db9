#include "agent/traces/scripted_http.h"

#include "base/strings.h"

namespace chela::agent::traces {
namespace {

constexpr int kNothingRecorded = 599;

// A response that is all there.
class Whole final : public net::ClientStream {
 public:
  explicit Whole(net::HttpResponse response) : response_(std::move(response)) {}
  int status() const override { return response_.status; }
  const net::Headers& headers() const override { return response_.headers; }
  Task<Result<std::optional<std::string>>> read(std::stop_token) override {
    if (response_.body.empty()) co_return std::nullopt;
    co_return std::exchange(response_.body, {});
  }

 private:
  net::HttpResponse response_;
};

}  // namespace

Result<net::HttpResponse> ScriptedHttp::next(const net::ClientRequest& request) {
  if (!request.egress) return fail(Code::kInvalidArgument, "the request has no egress policy");
  if (const Result<> allowed = request.egress->check_url(request.url); !allowed) return fail(allowed.error());
  if (next_ >= exchanges_.size()) {
    notes_.push_back(
        fmt::format("http_exchanges: nothing is recorded for {} {}", request.method, request.url));
    return net::HttpResponse{.status = kNothingRecorded};
  }
  const TraceExchange& recorded = exchanges_[next_++];
  if (!strings::iequals(recorded.method, request.method) || recorded.url != request.url)
    notes_.push_back(fmt::format("http_exchanges: {} {} was asked for, recorded is {} {}", request.method,
                                 request.url, recorded.method, recorded.url));
  net::HttpResponse response{.status = recorded.status, .body = recorded.response_body};
  for (const auto& [name, value] : recorded.response_headers) response.headers.add(name, value);
  if (response.body.size() > request.max_body)
    return fail(Code::kTooLarge, "the response has more than {} bytes", request.max_body);
  return response;
}

Task<Result<net::HttpResponse>> ScriptedHttp::fetch(net::ClientRequest request, std::stop_token) {
  co_return next(request);
}

Task<Result<std::unique_ptr<net::ClientStream>>> ScriptedHttp::open(net::ClientRequest request,
                                                                    std::stop_token) {
  Result<net::HttpResponse> response = next(request);
  if (!response) co_return fail(response.error());
  co_return std::make_unique<Whole>(std::move(*response));
}

}  // namespace chela::agent::traces
