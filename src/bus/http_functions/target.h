#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "base/json.h"
#include "base/result.h"
#include "net/http.h"

namespace chela::bus::http_functions {

// How a call proves who makes it. The secrets are values of the engine's environment.
struct Hmac {
  std::string secret;
};
struct Bearer {
  std::string token;
};
struct ApiKey {
  std::string header;
  std::string value;
};
using Auth = std::variant<std::monostate, Hmac, Bearer, ApiKey>;

// Where a function is called and how: the `invocation` of its registration.
struct Target {
  std::string url;
  std::string method = "POST";
  std::chrono::milliseconds timeout{};
  net::Headers headers = {};
  Auth auth = {};

  // The value of a variable; an error when it is not set or may not be used.
  using Variable = std::function<Result<std::string>(const std::string& name)>;
  // kInvalidArgument says what is wrong with it; errors of `variable` are passed on.
  static Result<Target> read(const json::Value& invocation, const Variable& variable);
};

// One call, as its headers tell it.
struct Told {
  std::string function_id;
  std::string invocation_id;
  std::int64_t unix_seconds = 0;
  std::string trace_id = {};  // "" = none
};
// All headers of the call, those of `auth` included.
net::Headers headers_of(const Target& target, const Told& told, std::string_view body);

// What an answer means: the result's JSON ("" = none), or an error with its own code as "bus_code".
Result<std::string> result_of(const net::HttpResponse& answer);

}  // namespace chela::bus::http_functions
