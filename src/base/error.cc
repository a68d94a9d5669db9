#include "base/error.h"

#include <array>

#include "base/check.h"

namespace chela {
namespace {

struct Row {
  Code code;
  std::string_view name;
  int http;
  int exit;
};

constexpr std::array kRows{
    Row{Code::kInvalidArgument, "invalid_argument", 400, 2},
    Row{Code::kUnauthenticated, "unauthenticated", 401, 4},
    Row{Code::kPermissionDenied, "permission_denied", 403, 4},
    Row{Code::kNotFound, "not_found", 404, 5},
    Row{Code::kConflict, "conflict", 409, 6},
    Row{Code::kApprovalPending, "approval_pending", 409, 3},
    Row{Code::kTooLarge, "too_large", 413, 2},
    Row{Code::kUnprocessable, "unprocessable", 422, 2},
    Row{Code::kRateLimited, "rate_limited", 429, 7},
    Row{Code::kBudgetExceeded, "budget_exceeded", 402, 7},
    Row{Code::kCancelled, "cancelled", 499, 130},
    Row{Code::kInternal, "internal", 500, 1},
    Row{Code::kUnsupported, "unsupported", 501, 2},
    Row{Code::kUpstream, "upstream", 502, 8},
    Row{Code::kUnavailable, "unavailable", 503, 8},
    Row{Code::kTimeout, "timeout", 504, 8},
};

const Row& row(Code code) {
  for (const Row& r : kRows) {
    if (r.code == code) return r;
  }
  CHELA_CHECK(false, "an error code without a row");
}

}  // namespace

std::string_view code_name(Code code) { return row(code).name; }
int http_status(Code code) { return row(code).http; }
int exit_code(Code code) { return row(code).exit; }

std::optional<Code> code_from_name(std::string_view name) {
  for (const Row& r : kRows) {
    if (r.name == name) return r.code;
  }
  return std::nullopt;
}

Error& Error::with(std::string key, std::string value) & {
  context.emplace_back(std::move(key), std::move(value));
  return *this;
}

Error&& Error::with(std::string key, std::string value) && {
  context.emplace_back(std::move(key), std::move(value));
  return std::move(*this);
}

std::string_view Error::detail(std::string_view key) const {
  for (const auto& [k, v] : context) {
    if (k == key) return v;
  }
  return {};
}

std::string Error::text() const { return std::string(code_name(code)) + ": " + message; }

}  // namespace chela
