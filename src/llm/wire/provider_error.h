#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "net/http.h"

namespace chela::llm::wire {

// What errors of one server may say and must not say.
struct ErrorContext {
  std::string server;                // host and port, for messages
  std::vector<std::string> secrets;  // values that providers like to quote
};

// The error of an answer whose status is not 200.
Error from_response(const ErrorContext& context, int status, const net::Headers& headers,
                    std::string_view body, UnixMs now);

// The error of an error object that came where an answer was expected: {"message","type","code"}, or just a text.
Error from_error_value(const ErrorContext& context, const json::Value& error);

// How long to wait by retry-after-ms or Retry-After (seconds or an HTTP date); nothing when neither is there or readable.
std::optional<std::chrono::milliseconds> retry_after(const net::Headers& headers, UnixMs now);

}  // namespace chela::llm::wire
