// LINK net
// Any bytes are a request, a refusal or not enough. How they are cut may move the moment of a refusal, but never makes a request of
// what is none, nor another request; and nothing passes its limit.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "net/http_parser.h"

namespace net = chela::net;

namespace {

constexpr size_t kMaxHeader = 512;
constexpr size_t kMaxBody = 256;

struct Outcome {
  net::RequestParser::State state = net::RequestParser::State::kNeedMore;
  std::string request;
  std::string rest;
  bool operator==(const Outcome&) const = default;
};

Outcome parse(std::string_view bytes, size_t piece) {
  const std::function<size_t(std::string_view)> limit = [](std::string_view) { return kMaxBody; };
  net::RequestParser parser({.max_header_bytes = kMaxHeader, .body_limit = limit});
  Outcome outcome;
  while (!bytes.empty() && outcome.state == net::RequestParser::State::kNeedMore) {
    outcome.state = parser.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (outcome.state != net::RequestParser::State::kDone) return outcome;
  const net::HttpRequest request = parser.take_request();
  CHELA_CHECK(request.body.size() <= kMaxBody, "a body past its limit");
  CHELA_CHECK(request.path == "*" || request.path.starts_with('/'), "a path that does not start with '/'");
  CHELA_CHECK(request.headers.count("Content-Length") + request.headers.count("Transfer-Encoding") <= 1,
              "two framings of one body");
  outcome.request = request.method + " " + request.target + "\n" + request.body;
  for (const auto& [name, value] : request.headers.fields) {
    CHELA_CHECK(net::valid_field(net::FieldPart::kName, name), "a header name that is no token");
    CHELA_CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
                "a header value with a line break");
    outcome.request += "\n" + name + ":" + value;
  }
  (void)net::parse_query(request.query);
  (void)net::percent_decode(request.path);
  outcome.rest = parser.take_rest() + std::string(bytes);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = data[0] % 16 + 1;
  const Outcome cut = parse(bytes, piece);
  const Outcome whole = parse(bytes, bytes.size());
  const bool any =
      cut.state == net::RequestParser::State::kDone || whole.state == net::RequestParser::State::kDone;
  CHELA_CHECK(!any || cut == whole, "the request depends on how the bytes are cut");
  return 0;
}
