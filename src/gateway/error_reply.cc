#include "gateway/error_reply.h"

#include <chrono>

namespace chela::gateway {
namespace {

using json::Value;

std::string_view openai_type(Code code) {
  switch (code) {
    case Code::kUnauthenticated:
      return "authentication_error";
    case Code::kPermissionDenied:
      return "permission_error";
    case Code::kRateLimited:
      return "rate_limit_error";
    case Code::kBudgetExceeded:
      return "insufficient_quota";
    case Code::kInternal:
    case Code::kUnsupported:
    case Code::kUpstream:
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kCancelled:
      return "server_error";
    default:
      return "invalid_request_error";
  }
}

std::string_view openai_code(Code code) {
  switch (code) {
    case Code::kUnauthenticated:
      return "auth_error";
    case Code::kRateLimited:
      return "rate_limit";
    case Code::kInternal:
      return "internal_error";
    default:
      return code_name(code);
  }
}

Value openai_body(const Error& error) {
  const std::string_view code = error.detail("code");
  const std::string_view param = error.detail("param");
  return Value::object({{"error", Value::object({{"message", error.message},
                                                 {"type", openai_type(error.code)},
                                                 {"param", param.empty() ? Value() : Value(param)},
                                                 {"code", code.empty() ? openai_code(error.code) : code}})}});
}

std::string_view anthropic_type(Code code) {
  switch (code) {
    case Code::kUnauthenticated:
      return "authentication_error";
    case Code::kPermissionDenied:
      return "permission_error";
    case Code::kNotFound:
      return "not_found_error";
    case Code::kTooLarge:
      return "request_too_large";
    case Code::kRateLimited:
      return "rate_limit_error";
    case Code::kUnavailable:
      return "overloaded_error";
    default:
      return http_status(code) < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

op::Envelope envelope_for(std::string_view path) {
  if (path.starts_with("/v1/messages")) return op::Envelope::kAnthropic;
  return path.starts_with("/v1/") ? op::Envelope::kOpenAi : op::Envelope::kChela;
}

Value error_body(const Error& error, op::Envelope envelope) {
  switch (envelope) {
    case op::Envelope::kOpenAi:
      return openai_body(error);
    case op::Envelope::kAnthropic:
      return Value::object(
          {{"type", "error"},
           {"error", Value::object({{"type", anthropic_type(error.code)}, {"message", error.message}})}});
    case op::Envelope::kChela:
      break;
  }
  return Value::object({{"error", json::from_error(error)}});
}

// Clients of the compatible APIs know no 422.
int error_status(const Error& error, op::Envelope envelope) {
  if (error.code == Code::kUnprocessable && envelope != op::Envelope::kChela)
    return http_status(Code::kInvalidArgument);
  return http_status(error.code);
}

net::HttpResponse error_reply(const Error& error, op::Envelope envelope, int status) {
  net::HttpResponse response{.status = status == 0 ? error_status(error, envelope) : status};
  response.headers.add("Content-Type", "application/json");
  if (error.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*error.retry_after).count();
    response.headers.add("Retry-After", std::to_string(seconds));
  }
  if (response.status == 401) response.headers.add("WWW-Authenticate", "Bearer");
  response.body = json::write(error_body(error, envelope));
  return response;
}

}  // namespace chela::gateway
