#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "bus/channels/channels.h"
#include "bus/http/route.h"
#include "bus/provider.h"
#include "bus/wire_scan.h"
#include "net/http.h"

// What functions are told of requests, and what their values mean as responses.
namespace chela::bus::http {

// How the body of a request with this head is taken.
enum class BodyKind {
  kJson,      // whole, as a part of the call and to be read beside it
  kStreamed,  // to be read, piece by piece
  kTooLong,   // JSON that is not taken, by what its head says
};
BodyKind body_kind(const net::HttpRequest& head);

// What conditions and functions are called with: {"query_params","path_params","headers","method","path","body","trigger",
// "request_body","response"}, the last two references to what is offered. Of repeated query parameters the last counts. The body is the
// request's own bytes; null when it is not said to be JSON, or is none.
std::string function_input(const net::HttpRequest& request, const Routes::Match& match,
                           const channels::Offer& offer, Scanner& scanner);
// {"phase","request":{"query_params","path_params","headers","method"},"context"}
std::string middleware_input(const net::HttpRequest& request, const Routes::Match& match);

// A response under way: what a function has set on it.
struct Head {
  int status = 200;
  net::Headers headers = {};
};

// The value of a function: {"status_code","headers","body"}, all optional. Anything else is the body itself.
// kInvalidArgument for a status or header that cannot be sent.
Result<net::HttpResponse> response_of(const json::Value& value);
// The same of its text, whose body goes out as the bytes it came as.
Result<net::HttpResponse> response_of(const Payload& value, Scanner& scanner);

// A text message of a response channel: {"type":"set_status","status_code"} or {"type":"set_headers","headers"}. What it is not is
// ignored; kInvalidArgument for a status or header that cannot be sent.
Result<> apply_control(std::string_view text, Head& head);

}  // namespace chela::bus::http
