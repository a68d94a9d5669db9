#include "bus/http/failure.h"

#include "base/json.h"

namespace chela::bus::http {
namespace {

constexpr std::string_view kConditionNotMet = "CONDITION_NOT_MET";

json::Value flat(const Failure& failure) {
  if (failure.code == kConditionNotMet)
    return json::Value::object({{"error", failure.message}, {"skipped", true}});
  if (failure.error_id.empty()) return json::Value::object({{"error", failure.message}});
  return json::Value::object({{"error", "internal server error"}, {"error_id", failure.error_id}});
}

json::Value nested(const Failure& failure) {
  json::Value error = json::Value::object({{"code", failure.code}, {"message", failure.message}});
  if (!failure.error_id.empty()) error.set("error_id", failure.error_id);
  json::Value body = json::Value::object({{"error", std::move(error)}});
  if (failure.code == kConditionNotMet) body.set("skipped", true);
  return body;
}

}  // namespace

Failure not_found(std::string_view method, std::string_view path) {
  return {
      .status = 404, .code = "NOT_FOUND", .message = fmt::format("nothing is served at {} {}", method, path)};
}

Failure not_allowed(std::string_view method, std::string_view path) {
  return {
      .status = 405, .code = "METHOD_NOT_ALLOWED", .message = fmt::format("{} takes no {}", path, method)};
}

Failure too_large(size_t limit) {
  return {.status = 413,
          .code = "PAYLOAD_TOO_LARGE",
          .message = fmt::format("a JSON body has at most {} bytes", limit)};
}

Failure cut_body(const Error& error) {
  const int status = error.code == Code::kTimeout ? 408 : error.code == Code::kTooLarge ? 413 : 400;
  return {.status = status, .code = std::string(code_name(error.code)), .message = error.message};
}

Failure condition_not_met() {
  return {.status = 422, .code = std::string(kConditionNotMet), .message = "Request condition not met"};
}

Failure failed_call(const Error& error, std::string error_id) {
  const std::string_view own = error.detail("bus_code");
  const bool busy = own == "unavailable" || error.code == Code::kRateLimited;
  return {.status = busy ? 503 : 500,
          .code = std::string(own.empty() ? code_name(error.code) : own),
          .message = error.message,
          .error_id = std::move(error_id)};
}

Failure timed_out(std::string_view what) {
  return {.status = 504,
          .code = what == "middleware" ? "MIDDLEWARE_TIMEOUT" : "TIMEOUT",
          .message = fmt::format("the {} did not answer in time", what)};
}

Failure stopping() {
  return {
      .status = 503, .code = "SERVICE_UNAVAILABLE", .message = "the engine stops; try again when it is back"};
}

Failure bad_response(const Error& error, std::string error_id) {
  return {
      .status = 500, .code = "INVALID_RESPONSE", .message = error.message, .error_id = std::move(error_id)};
}

net::HttpResponse response_of(const Failure& failure, const Worker* owner) {
  net::HttpResponse response{.status = failure.status};
  response.headers.add("Content-Type", "application/json");
  const bool old = owner != nullptr && owner->older_than(0, 19);
  response.body = json::write(old ? flat(failure) : nested(failure));
  return response;
}

}  // namespace chela::bus::http
