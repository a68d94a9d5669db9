#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "net/http.h"
#include "op/registry.h"

namespace chela::gateway {

// The body as a JSON value; null when there is none. kInvalidArgument for another content type, bytes that are no UTF-8, and text that is no JSON.
Result<json::Value> json_body(const net::HttpRequest& request);

// The query without the login token. kInvalidArgument for bytes that are no UTF-8.
Result<op::Params> query_params(const net::HttpRequest& request);

// The token a caller shows: Authorization: Bearer, X-Api-Key as Anthropic's clients send it, or ?token= for what cannot send headers.
// "" when none.
std::string bearer_token(const net::HttpRequest& request);

// Whether a token comes in a header, which no page of another site can make a browser send.
bool has_token_header(const net::HttpRequest& request);

// What operations may read: all headers but the credentials, names in lower case.
std::map<std::string, std::string, std::less<>> public_headers(const net::HttpRequest& request);

}  // namespace chela::gateway
