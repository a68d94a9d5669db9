#include "llm/failure.h"

namespace chela::llm {
namespace {

bool is_of_provider(Code code) {
  return code == Code::kRateLimited || code == Code::kUpstream || code == Code::kUnavailable ||
         code == Code::kTimeout;
}

bool is_of_account(Code code) {
  return code == Code::kUnauthenticated || code == Code::kPermissionDenied || code == Code::kNotFound;
}

}  // namespace

bool passes(const Error& error) { return is_of_provider(error.code) && error.detail("retry") != "no"; }

bool another_may_answer(const Error& error) {
  if (error.detail("reason") == "answer_too_large") return false;  // the request made it so
  return is_of_provider(error.code) || is_of_account(error.code);
}

}  // namespace chela::llm
