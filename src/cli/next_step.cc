#include "cli/next_step.h"

namespace chela::cli {

std::string_view next_step(Code code) {
  switch (code) {
    case Code::kUnauthenticated:
      return "Next step: look at the backend's key (chela config llm.api_key), then send it again.";
    case Code::kRateLimited:
      return "Next step: wait a little, then send it again.";
    case Code::kBudgetExceeded:
      return "Next step: raise the spend limit, or wait for its next period.";
    case Code::kUpstream:
    case Code::kUnavailable:
    case Code::kTimeout:
      return "Next step: send it again; chela status shows which model and backend are used.";
    case Code::kTooLarge:
      return "Next step: send less at once, or begin a new thread with /new.";
    case Code::kInternal:
      return "Next step: send it again; the log (logs/chela.log in the home) says more.";
    default:
      return {};
  }
}

}  // namespace chela::cli
