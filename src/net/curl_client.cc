#include "net/curl_client.h"

#include "base/strings.h"
#include "net/curl_transfer.h"

namespace chela::net {
namespace {

using Mode = CurlTransfer::Mode;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Headers that may go to another origin than the one they were meant for: none that could hold a credential.
bool crosses_origins(std::string_view name) {
  for (const std::string_view safe : {"accept", "accept-language", "content-type", "user-agent"}) {
    if (strings::iequals(name, safe)) return true;
  }
  return false;
}

void redirect(ClientRequest& request, const Url& from, const Url& to, int status) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && (status == 303 || ((status == 301 || status == 302) && request.method == "POST"))) {
    request.method = "GET";
    request.body.clear();
    request.headers.erase("Content-Type");
  }
  if (!from.same_origin(to)) {
    std::erase_if(request.headers.fields, [](const auto& field) { return !crosses_origins(field.first); });
  }
  request.url = to.text();
}

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(runtime::AsioLoop& loop) : loop_(loop) {}

  Task<Result<HttpResponse>> fetch(ClientRequest request, std::stop_token stop) override {
    Result<std::unique_ptr<CurlTransfer>> transfer = co_await begin(std::move(request), stop, Mode::kWhole);
    if (!transfer) co_return fail(transfer.error());
    Result<std::string> body = co_await (*transfer)->rest(stop);
    if (!body) co_return fail(body.error());
    co_return HttpResponse{
        .status = (*transfer)->status(), .headers = (*transfer)->headers(), .body = *std::move(body)};
  }

  Task<Result<std::unique_ptr<ClientStream>>> open(ClientRequest request, std::stop_token stop) override {
    Result<std::unique_ptr<CurlTransfer>> transfer = co_await begin(std::move(request), stop, Mode::kStream);
    if (!transfer) co_return fail(transfer.error());
    co_return *std::move(transfer);
  }

 private:
  Result<std::shared_ptr<CurlMulti>> multi() {
    if (!multi_) {
      Result<std::shared_ptr<const CurlApi>> api = CurlApi::load();
      if (!api) return fail(api.error());
      multi_ = std::make_shared<CurlMulti>(loop_, *std::move(api));
    }
    return multi_;
  }

  static Result<Url> checked_url(const ClientRequest& request) {
    if (!request.egress && !request.unix_socket)
      return fail(Code::kInvalidArgument, "a request needs an egress policy");
    if (request.egress) {
      if (Result<> allowed = request.egress->check_url(request.url); !allowed) return fail(allowed.error());
    }
    return Url::parse(request.url);
  }

  // Follows redirects until a response is not one; each URL is checked like the first.
  Task<Result<std::unique_ptr<CurlTransfer>>> begin(ClientRequest request, std::stop_token stop, Mode mode) {
    const Result<std::shared_ptr<CurlMulti>> shared = multi();
    if (!shared) co_return fail(shared.error());
    for (int redirects = 0;; ++redirects) {
      if (stop.stop_requested()) co_return fail(Code::kCancelled, "cancelled before the request was sent");
      const Result<Url> url = checked_url(request);
      if (!url) co_return fail(url.error());
      Result<std::unique_ptr<CurlTransfer>> transfer =
          CurlTransfer::start(loop_, *shared, request, *url, mode);
      if (!transfer) co_return fail(transfer.error());
      if (Result<> begun = co_await (*transfer)->begun(stop); !begun) co_return fail(begun.error());
      const std::string* location = (*transfer)->headers().find("Location");
      if (request.max_redirects == 0 || !location || !is_redirect((*transfer)->status())) co_return transfer;
      if (redirects >= request.max_redirects) {
        co_return fail(Code::kUpstream, "{} redirects more than {} times", url->host_port(),
                       request.max_redirects);
      }
      const Result<Url> next = url->resolve(*location);
      if (!next) co_return fail(Code::kUpstream, "{} redirects to a malformed URL", url->host_port());
      redirect(request, *url, *next, (*transfer)->status());
    }
  }

  runtime::AsioLoop& loop_;
  std::shared_ptr<CurlMulti> multi_;
};

}  // namespace

std::unique_ptr<HttpClient> make_curl_client(runtime::AsioLoop& loop) {
  return std::make_unique<CurlClient>(loop);
}

}  // namespace chela::net
