#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chela {

// The stable error codes of docs/contracts.md. Each has one HTTP status and one exit code.
enum class Code {
  kInvalidArgument,
  kUnauthenticated,
  kPermissionDenied,
  kNotFound,
  kConflict,
  kApprovalPending,
  kTooLarge,
  kUnprocessable,
  kRateLimited,
  kBudgetExceeded,
  kCancelled,
  kInternal,
  kUnsupported,
  kUpstream,
  kUnavailable,
  kTimeout,
};

std::string_view code_name(Code code);  // "invalid_argument"
std::optional<Code> code_from_name(std::string_view name);
int http_status(Code code);  // 400
int exit_code(Code code);    // 2

// What went wrong. `message` says what was wrong, with what value, and what to do; it is fit for people and never holds a secret.
// `context` holds machine-readable details (for example {"status","429"}) in the order they were added.
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::vector<std::pair<std::string, std::string>> context = {};
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;

  Error& with(std::string key, std::string value) &;
  Error&& with(std::string key, std::string value) &&;
  // The value of a context key, or "" when absent.
  std::string_view detail(std::string_view key) const;
  // "not_found: no thread 42" for logs.
  std::string text() const;
};

}  // namespace chela
