#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "bus/http/route.h"
#include "net/http.h"

// What functions are told of requests, and what their values mean as responses.
namespace chela::bus::http {

// {"path_params","query_params","headers","method"} of a request for that route; of repeated query parameters the last counts.
json::Object request_head(const net::HttpRequest& request, const Routes::Match& match);

// What conditions and functions are called with; the references are null for none.
json::Value function_input(json::Object head, const Route& route, json::Value body, json::Value request_body,
                           json::Value response);
json::Value middleware_input(json::Object head);

// Whether its content type is JSON.
bool says_json(const net::HttpRequest& request);
// The body as a JSON value: null when it is not said to be JSON, or is none.
json::Value json_body(const net::HttpRequest& request);

// A response under way: what a function has set on it.
struct Head {
  int status = 200;
  net::Headers headers = {};
};

// The value of a function: {"status_code","headers","body"}, all optional. Anything else is the body itself.
// kInvalidArgument for a status or header that cannot be sent.
Result<net::HttpResponse> response_of(const json::Value& value);

// A text message of a response channel: {"type":"set_status","status_code"} or {"type":"set_headers","headers"}. What it is not is
// ignored; kInvalidArgument for a status or header that cannot be sent.
Result<> apply_control(std::string_view text, Head& head);

}  // namespace chela::bus::http
