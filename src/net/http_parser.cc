#include "net/http_parser.h"

#include <boost/beast/http/basic_parser.hpp>

#include <optional>

#include "base/limits.h"
#include "base/strings.h"

namespace chela::net {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;
using View = boost::beast::string_view;

// A claimed Content-Length reserves at most so much before bytes have come.
constexpr size_t kMaxBodyReserve = 64 * 1024;

std::string_view view(View text) { return {text.data(), text.size()}; }

Refusal bad_request(std::string_view why) {
  return {400, Error{.code = Code::kInvalidArgument, .message = fmt::format("malformed request: {}", why)}};
}

Refusal header_too_large(size_t limit) {
  return {431, Error{.code = Code::kTooLarge,
                     .message = fmt::format("the request's headers are larger than {} bytes", limit)}};
}

}  // namespace

// Beast checks the grammar; the rules on what a server must refuse (RFC 9112, sections 3.2 and 6) are here, because Beast takes an
// unknown Transfer-Encoding for no body and counts its header limit per call.
struct RequestParser::Impl final : http::basic_parser<true> {
  explicit Impl(Limits l) : limits(l) {
    eager(true);
    header_limit(static_cast<std::uint32_t>(limits.max_header_bytes));
    body_limit(boost::none);
  }

  Limits limits;
  HttpRequest request;
  std::string body;
  int minor = 1;
  std::optional<Refusal> refused;
  std::string pending;  // bytes that do not make a whole line yet, then those after the request
  size_t header_bytes = 0;
  std::uint64_t max_body = 0;
  std::uint64_t body_bytes = 0;  // have come
  bool streams = false;
  bool drops = false;
  bool started = false;
  bool headers_done = false;
  bool wants_continue = false;

  void refuse(Refusal why, error_code& ec) {
    why.path = request.path;
    if (!refused) refused = std::move(why);
    ec = http::error::bad_value;
  }

  void count_header(size_t bytes, error_code& ec) {
    header_bytes += bytes;
    if (header_bytes > limits.max_header_bytes) refuse(header_too_large(limits.max_header_bytes), ec);
  }

  void split_target(error_code& ec) {
    std::string_view rest = request.target;
    if (strings::lower(rest.substr(0, 7)) == "http://" || strings::lower(rest.substr(0, 8)) == "https://") {
      rest.remove_prefix(rest.find("//") + 2);
      const size_t end = rest.find_first_of("/?");
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
    } else if (!rest.starts_with('/') && rest != "*") {
      return refuse(bad_request("the target must start with '/'"), ec);
    }
    const size_t question = rest.find('?');
    request.path = rest.substr(0, question);
    if (request.path.empty()) request.path = "/";
    if (question != std::string_view::npos) request.query = rest.substr(question + 1);
  }

  void on_request_impl(http::verb, View method, View target, int version, error_code& ec) override {
    request.method = view(method);
    request.target = view(target);
    minor = version % 10;
    count_header(request.method.size() + request.target.size(), ec);
    if (!ec) split_target(ec);
  }

  void on_response_impl(int, View, int, error_code& ec) override { ec = http::error::bad_method; }

  void on_field_impl(http::field, View name, View value, error_code& ec) override {
    count_header(name.size() + value.size() + 4, ec);
    if (ec || headers_done) return;  // a trailer is counted, not kept
    if (request.headers.fields.size() >= kMaxHeaderFields)
      return refuse(header_too_large(limits.max_header_bytes), ec);
    request.headers.add(view(name), view(value));
  }

  void on_header_impl(error_code& ec) override {
    headers_done = true;
    const Headers& headers = request.headers;
    const size_t hosts = headers.count("Host");
    if (hosts > 1 || (hosts == 0 && minor == 1))
      return refuse(bad_request("there must be one Host header"), ec);
    const size_t lengths = headers.count("Content-Length");
    const size_t codings = headers.count("Transfer-Encoding");
    // Beast takes "3, 3" for 3.
    if (lengths > 1 || headers.value_or("Content-Length").contains(',')) {
      return refuse(bad_request("more than one Content-Length"), ec);
    }
    if (lengths > 0 && codings > 0)
      return refuse(bad_request("both Content-Length and Transfer-Encoding"), ec);
    if (codings > 0 &&
        (codings > 1 || minor == 0 || !strings::iequals(headers.value_or("Transfer-Encoding"), "chunked"))) {
      return refuse(bad_request("the only Transfer-Encoding taken is chunked"), ec);
    }
    const std::optional<std::uint64_t> streamed =
        limits.stream_limit ? limits.stream_limit(request) : std::nullopt;
    streams = streamed.has_value();
    max_body = streamed ? *streamed : limits.body_limit(request.path);
    const std::uint64_t length = content_length().value_or(0);
    if (length > max_body) return refuse_body(ec);
    body.reserve(std::min<std::uint64_t>(length, kMaxBodyReserve));
    check_expect(ec);
  }

  void check_expect(error_code& ec) {
    const std::string* expect = request.headers.find("Expect");
    if (!expect || minor == 0) return;
    if (!strings::iequals(*expect, "100-continue")) {
      return refuse(
          {417, Error{.code = Code::kUnsupported, .message = "the only expectation taken is 100-continue"}},
          ec);
    }
    wants_continue = chunked() || content_length().value_or(0) > 0;
  }

  void refuse_body(error_code& ec) {
    refuse({413, Error{.code = Code::kTooLarge,
                       .message = fmt::format("the request's body is larger than {} bytes", max_body)}},
           ec);
  }

  size_t append_body(View bytes, error_code& ec) {
    if (bytes.size() > max_body - body_bytes) {
      refuse_body(ec);
      return 0;
    }
    body_bytes += bytes.size();
    if (!drops) body += view(bytes);
    return bytes.size();
  }

  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  size_t on_body_impl(View bytes, error_code& ec) override { return append_body(bytes, ec); }
  void on_chunk_header_impl(std::uint64_t size, View, error_code& ec) override {
    if (size > max_body - body_bytes) refuse_body(ec);
  }
  size_t on_chunk_body_impl(std::uint64_t, View bytes, error_code& ec) override {
    return append_body(bytes, ec);
  }
  void on_finish_impl(error_code&) override {}
};

RequestParser::RequestParser(Limits limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

RequestParser::State RequestParser::feed(std::string_view bytes) {
  Impl& p = *impl_;
  if (p.refused) return State::kRefused;
  if (!p.started) {
    // Some clients send an empty line after a body.
    const size_t start = bytes.find_first_not_of("\r\n");
    if (start == std::string_view::npos) return State::kNeedMore;
    bytes.remove_prefix(start);
    p.started = true;
  }
  std::string_view input = bytes;
  if (!p.pending.empty()) {
    p.pending += bytes;
    input = p.pending;
  }
  error_code ec;
  const size_t used = p.put(boost::asio::const_buffer(input.data(), input.size()), ec);
  if (ec && ec != http::error::need_more) {
    if (!p.refused) {
      p.refused = ec == http::error::header_limit ? header_too_large(p.limits.max_header_bytes)
                                                  : bad_request(ec.message());
    }
    return State::kRefused;
  }
  if (input.data() == p.pending.data()) {
    p.pending.erase(0, used);
  } else {
    p.pending.assign(input.substr(used));
  }
  if (p.is_done()) return State::kDone;
  if (p.pending.size() > p.limits.max_header_bytes) {
    p.refused = p.headers_done ? bad_request("a chunk's header is too long")
                               : header_too_large(p.limits.max_header_bytes);
    return State::kRefused;
  }
  return State::kNeedMore;
}

bool RequestParser::take_continue() {
  return std::exchange(impl_->wants_continue, false) && !impl_->is_done();
}
const std::string& RequestParser::path() const { return impl_->request.path; }
bool RequestParser::head_done() const { return impl_->headers_done; }
bool RequestParser::streams() const { return impl_->streams; }
std::string RequestParser::take_body() { return std::exchange(impl_->body, {}); }
size_t RequestParser::body_ahead() const { return impl_->body.size(); }

std::optional<std::uint64_t> RequestParser::missing() const {
  const Impl& p = *impl_;
  if (p.is_done()) return 0;
  const auto length = p.content_length();
  if (!length) return std::nullopt;
  return *length - p.body_bytes;
}

void RequestParser::drop_body() {
  impl_->drops = true;
  impl_->body = {};
}

HttpRequest RequestParser::take_request() {
  if (!impl_->streams) impl_->request.body = std::move(impl_->body);
  return std::move(impl_->request);
}

std::string RequestParser::take_rest() { return std::move(impl_->pending); }
KeepAlive RequestParser::keep_alive() const { return impl_->keep_alive() ? KeepAlive::kYes : KeepAlive::kNo; }
int RequestParser::minor_version() const { return impl_->minor; }
const Refusal& RequestParser::refusal() const { return *impl_->refused; }

}  // namespace chela::net
