#include "net/curl_transfer.h"

#include <sys/socket.h>

#include <cstdlib>

#include "base/check.h"
#include "base/strings.h"

namespace chela::net {
namespace {

bool is_loopback(const Url& url) {
  return url.host == "localhost" || url.host == "::1" || url.host.starts_with("127.");
}

// curl's form of a header: "Name: value", or "Name;" for an empty value.
std::string header_line(const std::string& name, const std::string& value) {
  return value.empty() ? name + ";" : name + ": " + value;
}

}  // namespace

CurlTransfer::CurlTransfer(runtime::AsioLoop& loop, std::shared_ptr<CurlMulti> multi,
                           const ClientRequest& request, const Url& url, Mode mode)
    : loop_(loop),
      multi_(std::move(multi)),
      api_(multi_->api()),
      easy_(api_.easy_init()),
      where_(request.unix_socket ? *request.unix_socket : url.host_port()),
      body_(request.body),
      egress_(request.egress),
      stall_timeout_(request.stall_timeout),
      deadline_(request.deadline),
      max_body_(request.max_body),
      mode_(mode),
      last_byte_(loop.clock().steady()) {
  CHELA_CHECK(easy_ != nullptr, "curl has no memory");
}

CurlTransfer::~CurlTransfer() {
  end(std::nullopt);
  api_.easy_cleanup(easy_);
  api_.slist_free_all(header_list_);
}

Result<std::unique_ptr<CurlTransfer>> CurlTransfer::start(runtime::AsioLoop& loop,
                                                          std::shared_ptr<CurlMulti> multi,
                                                          const ClientRequest& request, const Url& url,
                                                          Mode mode) {
  std::unique_ptr<CurlTransfer> transfer(new CurlTransfer(loop, std::move(multi), request, url, mode));
  if (Result<> valid = transfer->set_headers(request); !valid) return fail(valid.error());
  transfer->set_options(request, url);
  transfer->set_method(request);
  transfer->multi_->add(transfer->easy_, *transfer);
  transfer->watch_time();
  return transfer;
}

Result<> CurlTransfer::set_headers(const ClientRequest& request) {
  if (!valid_field(FieldPart::kName, request.method))
    return fail(Code::kInvalidArgument, "the request's method is malformed");
  const auto add = [this](const std::string& line) {
    header_list_ = api_.slist_append(header_list_, line.c_str());
  };
  for (const auto& [name, value] : request.headers.fields) {
    if (!valid_field(FieldPart::kName, name) || !valid_field(FieldPart::kValue, value)) {
      return fail(Code::kInvalidArgument,
                  "a request header is malformed (line breaks and control characters are not allowed)");
    }
    add(header_line(name, value));
  }
  // What curl would add by itself.
  if (!request.headers.find("Expect")) add("Expect:");
  if (!request.headers.find("Content-Type")) add("Content-Type:");
  if (!request.headers.find("User-Agent")) add("User-Agent: chela");
  api_.easy_setopt(easy_, CURLOPT_HTTPHEADER, header_list_);
  return {};
}

void CurlTransfer::set_options(const ClientRequest& request, const Url& url) {
  const auto set = [this](CURLoption option, auto value) {
    CHELA_CHECK(api_.easy_setopt(easy_, option, value) == CURLE_OK, "curl does not take an option");
  };
  set(CURLOPT_URL, url.text().c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // a cancelled transfer does not wait for its resolver thread
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_OPENSOCKETFUNCTION, &CurlTransfer::on_open);
  set(CURLOPT_OPENSOCKETDATA, this);
  if (request.unix_socket) set(CURLOPT_UNIX_SOCKET_PATH, request.unix_socket->c_str());
  const bool public_only = request.egress && request.egress->reach() == EgressPolicy::Reach::kPublicOnly;
  if (request.unix_socket || public_only || is_loopback(url)) set(CURLOPT_PROXY, "");
  if (public_only) {
    // A connection opened under another policy was not checked by this one.
    set(CURLOPT_FRESH_CONNECT, 1L);
    set(CURLOPT_FORBID_REUSE, 1L);
  }
  if (const char* certificates = std::getenv("SSL_CERT_FILE")) set(CURLOPT_CAINFO, certificates);
}

void CurlTransfer::set_method(const ClientRequest& request) {
  const bool has_body =
      !body_.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (request.method == "HEAD") {
    api_.easy_setopt(easy_, CURLOPT_NOBODY, 1L);
    return;
  }
  if (has_body) {
    api_.easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
    api_.easy_setopt(easy_, CURLOPT_POSTFIELDS, body_.data());
  }
  api_.easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

size_t CurlTransfer::on_header(char* data, size_t size, size_t count, void* self) {
  const std::string_view line(data, size * count);
  return static_cast<CurlTransfer*>(self)->take_header(line) ? line.size() : 0;
}

bool CurlTransfer::take_header(std::string_view line) {
  last_byte_ = loop_.clock().steady();
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxClientHeaderBytes) {
    error_ =
        Error{.code = Code::kUpstream,
              .message = fmt::format("{} sent more than {} bytes of headers", where_, kMaxClientHeaderBytes)};
    return false;
  }
  if (headers_done_) return true;  // a trailer
  if (line.starts_with("HTTP/")) {
    headers_ = {};
    return true;
  }
  line = strings::trim(line);
  if (!line.empty()) {
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos)
      headers_.add(strings::trim(line.substr(0, colon)), strings::trim(line.substr(colon + 1)));
    return true;
  }
  long status = 0;
  api_.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  if (status < 200) return true;  // "100 Continue" and its like go before the response
  status_ = static_cast<int>(status);
  headers_done_ = true;
  if (waiter_) waiter_->resolve(true);
  return true;
}

size_t CurlTransfer::on_body(char* data, size_t size, size_t count, void* self) {
  return static_cast<CurlTransfer*>(self)->take_body({data, size * count});
}

size_t CurlTransfer::take_body(std::string_view bytes) {
  last_byte_ = loop_.clock().steady();
  if (mode_ == Mode::kStream && unread_.size() >= kMaxClientQueuedBytes) {
    paused_ = true;
    return CURL_WRITEFUNC_PAUSE;  // curl brings the same bytes again
  }
  if (bytes.size() > max_body_ - received_) {
    error_ = Error{.code = Code::kTooLarge,
                   .message = fmt::format("the response of {} is larger than {} bytes", where_, max_body_)};
    return 0;
  }
  received_ += bytes.size();
  unread_ += bytes;
  if (waiter_) waiter_->resolve(true);
  return bytes.size();
}

curl_socket_t CurlTransfer::on_open(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  if (transfer.egress_) {
    if (Result<> allowed = transfer.egress_->check_address(address->addr); !allowed) {
      transfer.refusal_ = allowed.error();
      return CURL_SOCKET_BAD;
    }
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

void CurlTransfer::finished(CURLcode result) {
  if (error_) return end(std::move(error_));
  if (result != CURLE_OK) return end(explain(result));
  if (!headers_done_)
    return end(Error{.code = Code::kUpstream, .message = fmt::format("{} sent no response", where_)});
  end(std::nullopt);
}

Error CurlTransfer::explain(CURLcode result) const {
  const std::string_view reason = api_.easy_strerror(result);
  switch (result) {
    case CURLE_COULDNT_CONNECT: {
      if (refusal_) return *refusal_;
      long os_error = 0;
      api_.easy_getinfo(easy_, CURLINFO_OS_ERRNO, &os_error);
      const std::string detail =
          os_error != 0 ? std::error_code(static_cast<int>(os_error), std::generic_category()).message()
                        : std::string(reason);
      return {.code = Code::kUnavailable, .message = fmt::format("cannot connect to {}: {}", where_, detail)};
    }
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
    case CURLE_INTERFACE_FAILED:
      return {.code = Code::kUnavailable, .message = fmt::format("cannot reach {}: {}", where_, reason)};
    case CURLE_OPERATION_TIMEDOUT:
      return {.code = Code::kTimeout, .message = fmt::format("connecting to {} took too long", where_)};
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return {.code = Code::kUpstream, .message = fmt::format("{} cut the connection: {}", where_, reason)};
    default:
      return {.code = Code::kUpstream,
              .message = fmt::format("no proper answer from {}: {}", where_, reason)};
  }
}

void CurlTransfer::end(std::optional<Error> error) {
  multi_->remove(easy_);
  if (timer_) loop_.cancel(*std::exchange(timer_, {}));
  done_ = true;
  error_ = std::move(error);
  if (waiter_) waiter_->resolve(true);
}

// One timer for deadline and stall; it looks at the last byte when it fires instead of being moved with each. A pause for the reader
// is no stall of the server.
void CurlTransfer::watch_time() {
  SteadyTime next = last_byte_ + stall_timeout_;
  if (deadline_ && *deadline_ < next) next = *deadline_;
  timer_ = loop_.call_at(next, [this] {
    timer_.reset();
    const SteadyTime now = loop_.clock().steady();
    if (deadline_ && now >= *deadline_) {
      end(Error{.code = Code::kTimeout,
                .message = fmt::format("the request to {} took longer than its deadline", where_)});
      return;
    }
    if (paused_) last_byte_ = now;
    if (now - last_byte_ >= stall_timeout_) {
      end(Error{.code = Code::kTimeout,
                .message = fmt::format("{} sent nothing for {} ms", where_, stall_timeout_.count())});
      return;
    }
    watch_time();
  });
}

Task<bool> CurlTransfer::changed(std::stop_token stop) {
  waiter_.emplace(loop_);
  const runtime::Completion<bool> waiter = *waiter_;
  const std::stop_callback on_stop(stop, [waiter] { waiter.resolve(false); });
  const bool went_on = co_await waiter;
  co_return went_on && !stop.stop_requested();
}

Error CurlTransfer::cancelled() {
  const Error error{.code = Code::kCancelled,
                    .message = fmt::format("the request to {} was cancelled", where_)};
  unread_.clear();
  end(error);
  return error;
}

Task<Result<>> CurlTransfer::begun(std::stop_token stop) {
  while (!headers_done_ && !done_) {
    if (!co_await changed(stop)) co_return fail(cancelled());
  }
  if (!headers_done_) co_return fail(*error_);
  co_return Result<>{};
}

Task<Result<std::optional<std::string>>> CurlTransfer::read(std::stop_token stop) {
  while (unread_.empty() && !done_) {
    if (!co_await changed(stop)) co_return fail(cancelled());
  }
  if (!unread_.empty()) {
    std::optional<std::string> bytes(std::exchange(unread_, {}));
    if (std::exchange(paused_, false) && !done_) {
      last_byte_ = loop_.clock().steady();
      // Brings what curl held back, at once or with the next turn of the loop.
      if (const CURLcode result = api_.easy_pause(easy_, CURLPAUSE_CONT); result != CURLE_OK && !done_)
        finished(result);
    }
    co_return bytes;
  }
  if (error_) co_return fail(*error_);
  co_return std::nullopt;
}

Task<Result<std::string>> CurlTransfer::rest(std::stop_token stop) {
  while (!done_) {
    if (!co_await changed(stop)) co_return fail(cancelled());
  }
  if (error_) co_return fail(*error_);
  co_return std::exchange(unread_, {});
}

}  // namespace chela::net
